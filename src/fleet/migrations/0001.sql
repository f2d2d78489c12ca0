-- Snapshots of sites from many hosts. docs/fleet.md says what each column means.
CREATE TABLE IF NOT EXISTS silt_schema (
    version UInt32,
    min_writer UInt32,
    applied DateTime
) ENGINE = ReplacingMergeTree ORDER BY version;

CREATE TABLE IF NOT EXISTS silt_paths (
    path FixedString(16),
    frames Array(String)
) ENGINE = ReplacingMergeTree ORDER BY path;

CREATE TABLE IF NOT EXISTS silt_snapshots (
    day Date,
    service String,
    host String,
    run FixedString(16),
    recording_ms UInt64,
    time DateTime,
    period_ms UInt64,
    build String,
    program String,
    pid UInt32,
    labels Array(String),
    live_bytes Int64,
    live_blocks Int64,
    peak_bytes UInt64,
    rss_bytes UInt64,
    alloc_bytes UInt64,
    allocs UInt64,
    frees UInt64,
    failed UInt64,
    lost UInt64,
    sample_bytes UInt64,
    error_bytes Float64,
    sites UInt32,
    path_set UInt64,
    is_last UInt8,
    is_damaged UInt8,
    is_late UInt8,
    batch FixedString(16)
) ENGINE = ReplacingMergeTree PARTITION BY toYYYYMM(day)
ORDER BY (service, intDiv(toUInt32(time), 3600), host, run, recording_ms);

CREATE TABLE IF NOT EXISTS silt_sites (
    day Date,
    service String,
    path FixedString(16),
    host String,
    run FixedString(16),
    recording_ms UInt64,
    time DateTime,
    build String,
    live_bytes Int64,
    live_blocks Int64,
    alloc_bytes UInt64,
    allocs UInt64,
    error_bytes Float64
) ENGINE = ReplacingMergeTree PARTITION BY toYYYYMM(day)
ORDER BY (service, intDiv(toUInt32(time), 3600), path, host, run, recording_ms);

CREATE TABLE IF NOT EXISTS silt_losses (
    day Date,
    service String,
    host String,
    id FixedString(16),
    run FixedString(16),
    from_time DateTime,
    to_time DateTime,
    snapshots UInt64,
    bytes UInt64,
    why String
) ENGINE = ReplacingMergeTree PARTITION BY toYYYYMM(day)
ORDER BY (service, host, id);

CREATE VIEW IF NOT EXISTS silt_snapshots_once AS SELECT * FROM silt_snapshots FINAL;

CREATE VIEW IF NOT EXISTS silt_sites_once AS SELECT * FROM silt_sites FINAL;

CREATE VIEW IF NOT EXISTS silt_losses_once AS SELECT * FROM silt_losses FINAL;
