// Works for ever in four threads, as Rust programs do; for cpu_truth.py.
use std::collections::{BTreeMap, HashMap};
use std::panic;

fn fibonacci(n: u64) -> u64 {
    if n < 2 { n } else { fibonacci(n - 1).wrapping_add(fibonacci(n - 2)) }
}

fn nest(n: u32, f: &dyn Fn(u32) -> u64) -> u64 {
    if n == 0 { f(n) } else { nest(n - 1, f) ^ f(n) }
}

fn work(k: u64) {
    let mut counts = HashMap::new();
    let mut texts = BTreeMap::new();
    for i in 0..2000u64 {
        *counts.entry(format!("key {}", i * 7919 % 500)).or_insert(0) += i;
        texts.insert(i * 31 % 997, i.to_string());
    }
    let mut sorted: Vec<_> = counts.into_iter().collect();
    sorted.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let size: usize = texts.values().map(|x| x.len()).sum();
    std::hint::black_box(nest(60, &|n| {
        (0..50u64).fold(u64::from(n), |a, x| a.rotate_left(3) ^ x)
    }));
    std::hint::black_box((fibonacci(12 + k), size));
    let _ = panic::catch_unwind(|| {
        if sorted.len() > 1 {
            panic!("thrown")
        }
    });
}

fn main() {
    panic::set_hook(Box::new(|_| {}));
    let threads: Vec<_> =
        (0..4).map(|k| std::thread::spawn(move || loop { work(k) })).collect();
    for thread in threads {
        thread.join().unwrap();
    }
}
