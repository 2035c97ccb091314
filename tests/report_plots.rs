mod support_run;

#[test]
fn t() {
    let out = std::path::Path::new("/tmp/report-out");
    for (name, run) in [
        ("quick", support_run::quickstart()),
        ("stall", support_run::stalled()),
        ("failed", support_run::failed()),
        ("hostile", support_run::hostile()),
        ("closed", support_run::closed_loop()),
    ] {
        let dir = out.join(name);
        let w = idembench::report::write(&run, &dir).unwrap();
        println!("{}\n", idembench::report::text::summary(&run));
        println!("{}\n", idembench::report::text::list_line(&run));
        std::fs::write(dir.join("run.json"), serde_json::to_vec(&run).unwrap()).unwrap();
        let _ = w;
    }
}
