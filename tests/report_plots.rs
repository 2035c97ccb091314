//! Figures of simulated runs.

mod support_run;

use idembench::report::plot;

#[test]
fn t() {
    let t0 = std::time::Instant::now();
    let _ = support_run::quickstart();
    println!("simulate {:?}", t0.elapsed());
    let r = support_run::stalled();
    let t0 = std::time::Instant::now();
    let _ = plot::figures(&r).unwrap();
    println!("plots {:?}", t0.elapsed());
    let out = std::path::Path::new("/tmp/report-out");
    for (name, run) in [
        ("quick", support_run::quickstart()),
        ("stall", support_run::stalled()),
        ("failed", support_run::failed()),
        ("hostile", support_run::hostile()),
        ("closed", support_run::closed_loop()),
    ] {
        let dir = out.join(name);
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("run.json"), serde_json::to_vec(&run).unwrap()).unwrap();
        for plot in plot::figures(&run).unwrap() {
            std::fs::write(dir.join(format!("{}.svg", plot.name)), &plot.svg).unwrap();
            std::fs::write(dir.join(format!("{}.narrow.svg", plot.name)), &plot.svg_page_narrow).unwrap();
            std::fs::write(dir.join(format!("{}.png", plot.name)), &plot.png).unwrap();
        }
    }
}
