// main.rs - the corpus's Rust: generics, closures, traits, iterators, panics.
use std::collections::HashMap;
use std::fmt::Display;
use std::thread;

trait Shape {
    fn area(&self) -> f64;
    fn name(&self) -> String {
        String::from("shape")
    }
}

struct Square(f64);
struct Circle<T> {
    radius: T,
}

impl Shape for Square {
    fn area(&self) -> f64 {
        self.0 * self.0
    }
}

impl<T: Into<f64> + Copy> Shape for Circle<T> {
    fn area(&self) -> f64 {
        let radius: f64 = self.radius.into();
        radius * radius * 3.14
    }
    fn name(&self) -> String {
        format!("circle of {}", self.area())
    }
}

mod inner {
    #[inline(never)]
    pub fn count(words: &[&str]) -> super::HashMap<String, usize> {
        let mut seen = super::HashMap::new();
        for word in words {
            *seen.entry(word.to_lowercase()).or_insert(0) += 1;
        }
        seen
    }
}

#[inline(never)]
fn show<T: Display>(items: &[T]) -> String {
    items
        .iter()
        .map(|item| format!("<{}>", item))
        .collect::<Vec<_>>()
        .join(",")
}

#[inline(never)]
fn parse(text: &str) -> Result<i32, std::num::ParseIntError> {
    let number: i32 = text.trim().parse()?;
    Ok(number.checked_mul(2).unwrap_or(0))
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let parts: Vec<&str> = words.iter().flat_map(|w| w.split('/')).collect();
    let shapes: Vec<Box<dyn Shape>> = vec![
        Box::new(Square(parts.len() as f64)),
        Box::new(Circle { radius: 2.0f32 }),
        Box::new(Circle { radius: 7u8 }),
    ];
    let total: f64 = shapes.iter().map(|s| s.area()).sum();
    let handles: Vec<_> = (0..3)
        .map(|i| thread::spawn(move || (0..i).fold(0, |a, b| a * 3 + b)))
        .collect();
    let sums: Vec<i32> =
        handles.into_iter().map(|h| h.join().unwrap()).collect();

    for shape in &shapes {
        println!("{}", shape.name());
    }
    println!("{} {:?} {}", total, inner::count(&parts), show(&sums));
    println!("{:?} {}", parse(" 21 "), show(&["a", "b"]));
    if sums.len() > parts.len() + 10 {
        panic!("cannot be: {}", sums[parts.len()]);
    }
}
