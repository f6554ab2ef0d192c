//! A server that holds what it is ordered to, as server.cc.
use std::collections::HashMap;
use std::io::BufRead;
use std::sync::mpsc;
use tikv_jemalloc_sys as jemalloc;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

#[cfg(feature = "compiled_in")]
#[repr(transparent)]
pub struct Conf(*const std::os::raw::c_char);
#[cfg(feature = "compiled_in")]
unsafe impl Sync for Conf {}
#[cfg(feature = "compiled_in")]
#[export_name = "_rjem_malloc_conf"]
pub static MALLOC_CONF: Conf =
    Conf(b"prof:true,prof_active:false,lg_prof_sample:18\0".as_ptr() as *const _);

struct PageCache {
    pages: Vec<Box<[u8; 16384]>>,
}

trait Store {
    fn load(&mut self, megabytes: usize);
    fn held(&self) -> usize;
}

impl Store for PageCache {
    #[inline(never)]
    fn load(&mut self, megabytes: usize) {
        for _ in 0..megabytes * (1 << 20) / 16384 {
            self.pages.push(std::hint::black_box(Box::new([1; 16384])));
        }
    }
    fn held(&self) -> usize {
        self.pages.len() * 16384
    }
}

impl PageCache {
    #[inline(never)]
    fn drop_half(&mut self) {
        self.pages.truncate(self.pages.len() / 2);
    }
}

struct Index<K> {
    entries: HashMap<K, Vec<u8>>,
}

impl Store for Index<u64> {
    #[inline(never)]
    fn load(&mut self, megabytes: usize) {
        self.entries.reserve(megabytes << 10);
        for i in 0..megabytes as u64 * (1 << 10) {
            let key = i + ((self.entries.len() as u64) << 32);
            self.entries.insert(key, std::hint::black_box(vec![1; 1024]));
        }
    }
    fn held(&self) -> usize {
        self.entries.len() * 1024
    }
}

fn allocated() -> usize {
    let (mut bytes, mut size, mut epoch) = (0usize, std::mem::size_of::<usize>(), 1u64);
    unsafe {
        let out = &mut bytes as *mut usize as *mut _;
        jemalloc::mallctl(b"epoch\0".as_ptr() as *const _, std::ptr::null_mut(),
            std::ptr::null_mut(), &mut epoch as *mut u64 as *mut _, 8);
        jemalloc::mallctl(b"stats.allocated\0".as_ptr() as *const _, out, &mut size,
            std::ptr::null_mut(), 0);
    }
    bytes
}

fn main() {
    let mut pages = PageCache { pages: Vec::new() };
    let (order, orders) = mpsc::channel::<usize>();
    let (answer, answers) = mpsc::channel();
    let worker = std::thread::spawn(move || {
        let mut index = Index { entries: HashMap::new() };
        for megabytes in orders {
            index.load(megabytes);
            answer.send(index.held()).unwrap();
        }
    });
    let mut index = 0;
    println!("ready");
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let mut words = line.split(' ');
        let what = words.next().unwrap();
        let count = words.next().map_or(0, |n| n.parse().unwrap());
        match what {
            "pages" => pages.load(count),
            "index" => {
                order.send(count).unwrap();
                index = answers.recv().unwrap();
            }
            "drop" => pages.drop_half(),
            "stop" => break,
            _ => {}
        }
        if what == "allocated" {
            println!("{}", allocated());
        } else {
            println!("pages {} index {}", pages.held(), index);
        }
    }
    drop(order);
    worker.join().unwrap();
    println!("stopped");
    std::process::exit(7);
}
