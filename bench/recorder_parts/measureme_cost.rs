// One interval with measureme, as rustc records them: measureme_cost PATH COUNT THREADS
use measureme::{EventId, Profiler, StringId};
use std::sync::Arc;
use std::time::Instant;

fn run(profiler: &Profiler, kind: StringId, id: EventId, count: u64, thread: u32) {
    for _ in 0..count {
        let guard = profiler.start_recording_interval_event(kind, id, thread);
        std::hint::black_box(&guard);
    }
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let count: u64 = args[2].parse().unwrap();
    let threads: u64 = args[3].parse().unwrap();
    let profiler = Arc::new(Profiler::new(std::path::Path::new(&args[1])).unwrap());
    let kind = profiler.alloc_string("Bench");
    let id = EventId::from_label(profiler.alloc_string("interval"));
    run(&profiler, kind, id, count / 100, 0);
    let start = Instant::now();
    let workers: Vec<_> = (0..threads)
        .map(|thread| {
            let profiler = profiler.clone();
            std::thread::spawn(move || run(&profiler, kind, id, count, thread as u32))
        })
        .collect();
    for worker in workers {
        worker.join().unwrap();
    }
    println!("interval_ns {:.3}", start.elapsed().as_nanos() as f64 / (count * threads) as f64);
}
