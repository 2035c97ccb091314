//! Reads a file from its first page to its last, a few pieces ahead of who looks at them and past the page cache
//! where the file system allows it, on a thread of its own: the disk and the processor work at the same time.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use super::super::buffer::PageBuffer;
use super::Pages;

/// Bytes of a piece; files end on a whole one.
const PIECE_BYTES: usize = 1 << 20;
/// Pieces that are read ahead at most: the bound on memory.
const PIECES_AHEAD: usize = 4;

/// A file that is being read. Its thread ends when this is dropped.
pub struct ReadAhead {
    bytes: u64,
    filled: Receiver<io::Result<PageBuffer>>,
    empty: SyncSender<PageBuffer>,
    /// The piece that is being looked at.
    current: Option<PageBuffer>,
}

impl ReadAhead {
    /// Opens the file and begins to read it.
    pub fn open(path: &Path) -> io::Result<ReadAhead> {
        let file = open(path)?;
        let bytes = file.metadata()?.len();
        let (output, filled) = sync_channel(PIECES_AHEAD);
        // One more than are ever under way, so that giving one back never blocks.
        let (empty, input) = sync_channel(PIECES_AHEAD + 1);
        for _ in 0..PIECES_AHEAD {
            _ = empty.try_send(PageBuffer::new(PIECE_BYTES));
        }
        std::thread::Builder::new()
            .name("page reader".to_owned())
            .spawn(move || read_all(&file, bytes, &input, &output))?;
        Ok(ReadAhead { bytes, filled, empty, current: None })
    }
}

impl Pages for ReadAhead {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn next_pages(&mut self) -> io::Result<&[u8]> {
        if let Some(seen) = self.current.take() {
            // The reader is gone once it has read all.
            _ = self.empty.try_send(seen);
        }
        // Without a reader there is nothing more to come.
        let Ok(piece) = self.filled.recv() else { return Ok(&[]) };
        Ok(self.current.insert(piece?).bytes())
    }
}

/// Past the page cache if the file system can.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    match options.clone().custom_flags(libc::O_DIRECT).open(path) {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => options.open(path),
        opened => opened,
    }
}

/// Reads whole pieces; a file that has become shorter is an error, as is one that cannot be read.
fn read_all(
    file: &File,
    bytes: u64,
    input: &Receiver<PageBuffer>,
    output: &SyncSender<io::Result<PageBuffer>>,
) {
    for offset in (0..bytes).step_by(PIECE_BYTES) {
        let Ok(mut buffer) = input.recv() else { return };
        let read = file.read_exact_at(buffer.bytes_mut(), offset);
        let failed = read.is_err();
        if output.send(read.map(|()| buffer)).is_err() || failed {
            return;
        }
    }
}
