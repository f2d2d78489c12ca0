# SPDX-License-Identifier: MIT
"""What tests/run.py is made of: building the programs, running them, and comparing figures."""
