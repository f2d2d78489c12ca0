// SPDX-License-Identifier: MIT
// Tasks laid out and named as those of the crate async-task, to be built under its name: of each kind as many as the arguments say. All their `schedule` are
// the same code, which compilers merge; `Left` and `Right` are the same altogether. Says "ready" and ends with its input.
use std::future::Future;
use std::io::Read;
use std::pin::Pin;
use std::task::{Context, Poll};

mod raw {
    use std::future::Future;
    use std::marker::PhantomData;
    use std::pin::Pin;
    use std::task::{Context, RawWaker, RawWakerVTable, Waker};

    #[repr(C)]
    struct Table {
        schedule: unsafe fn(*mut ()),
        drop_future: unsafe fn(*mut ()),
        get_output: unsafe fn(*mut ()) -> *mut (),
        drop_ref: unsafe fn(*mut ()),
        destroy: unsafe fn(*mut ()),
        run: unsafe fn(*mut ()) -> bool,
        clone_waker: unsafe fn(*mut ()) -> RawWaker,
    }

    #[repr(C)]
    pub struct RawTask<F, T, S, M> {
        table: &'static Table,
        state: usize,
        awaiter: [usize; 2],
        future: F,
        rest: PhantomData<(T, S, M)>,
    }

    static WAKER: RawWakerVTable = RawWakerVTable::new(|p| RawWaker::new(p, &WAKER), |_| (), |_| (), |_| ());

    impl<F: Future<Output = T> + 'static, T: 'static, S: 'static, M: 'static> RawTask<F, T, S, M> {
        const TABLE: &'static Table = &Table {
            schedule: Self::schedule,
            drop_future: Self::drop_future,
            get_output: Self::get_output,
            drop_ref: Self::drop_ref,
            destroy: Self::destroy,
            run: Self::run,
            clone_waker: Self::clone_waker,
        };

        pub fn allocate(future: F) -> *mut () {
            let task = RawTask { table: Self::TABLE, state: 0x111, awaiter: [0; 2], future, rest: PhantomData };
            let ptr: *mut RawTask<F, T, S, M> = Box::into_raw(Box::new(task));
            unsafe { ((*ptr).table.schedule)(ptr.cast()) };
            assert!(!unsafe { ((*ptr).table.run)(ptr.cast()) });
            ptr.cast()
        }

        unsafe fn schedule(ptr: *mut ()) {
            (*ptr.cast::<Self>()).state &= !1;
        }

        unsafe fn drop_future(ptr: *mut ()) {
            std::ptr::drop_in_place(&mut (*ptr.cast::<Self>()).future)
        }

        unsafe fn get_output(ptr: *mut ()) -> *mut () {
            (&mut (*ptr.cast::<Self>()).future as *mut F).cast()
        }

        unsafe fn drop_ref(ptr: *mut ()) {
            (*ptr.cast::<Self>()).state -= 0x100;
        }

        unsafe fn destroy(ptr: *mut ()) {
            drop(Box::from_raw(ptr.cast::<Self>()));
        }

        unsafe fn run(ptr: *mut ()) -> bool {
            let waker = Waker::from_raw(RawWaker::new(ptr, &WAKER));
            Pin::new_unchecked(&mut (*ptr.cast::<Self>()).future).poll(&mut Context::from_waker(&waker)).is_ready()
        }

        unsafe fn clone_waker(ptr: *mut ()) -> RawWaker {
            (*ptr.cast::<Self>()).state += 0x100;
            RawWaker::new(ptr, &WAKER)
        }
    }
}

async fn fetch(n: usize) -> usize {
    let text = vec![n; 3];
    std::future::pending::<()>().await;
    text[0]
}

async fn serve(n: usize) -> usize {
    let text = vec![n; 4];
    std::future::pending::<()>().await;
    text[1] * 7
}

struct Left(usize);
struct Right(usize);

impl Future for Left {
    type Output = usize;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<usize> {
        self.0 += 3;
        Poll::Pending
    }
}

impl Future for Right {
    type Output = usize;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<usize> {
        self.0 += 3;
        Poll::Pending
    }
}

fn spawn<F: Future<Output = usize> + 'static>(future: F) -> *mut () {
    raw::RawTask::<F, usize, u64, ()>::allocate(future)
}

fn main() {
    let n: Vec<usize> = std::env::args().skip(1).map(|word| word.parse().unwrap()).collect();
    let mut all = Vec::new();
    for i in 0..n[0] {
        all.push(spawn(fetch(i)));
    }
    for i in 0..n[1] {
        all.push(spawn(serve(i)));
    }
    for i in 0..n[2] {
        all.push(spawn(Left(i)));
    }
    for i in 0..n[3] {
        all.push(spawn(Right(i)));
    }
    println!("ready");
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    std::process::exit(if all.is_empty() { 1 } else { 0 });
}
