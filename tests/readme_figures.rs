//! Figures in the documents are those of the committed runs that they name.

use std::fs;
use std::path::Path;

use idembench::report::splice::{SpliceError, splice};
use idembench::results::Run;

#[test]
fn marked_regions_are_in_step_with_their_runs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for name in ["README.md", "results/README.md"] {
        let Ok(text) = fs::read_to_string(root.join(name)) else { continue };
        let folder = root.join(name).parent().unwrap().to_owned();
        let read = |path: &str| -> Result<Run, String> {
            let file = folder.join(path).join("run.json");
            let text = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
            serde_json::from_str(&text).map_err(|error| format!("{}: {error}", file.display()))
        };
        let spliced = match splice(&text, read) {
            Err(SpliceError::NoMarkers) => continue,
            spliced => spliced.unwrap_or_else(|error| panic!("{name}: {error}")),
        };
        assert_eq!(text, spliced, "{name} is not in step: idembench report --splice {name}");
    }
}
