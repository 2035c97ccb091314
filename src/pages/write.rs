//! The disk side of a file that is being built: pages go out in large aligned pieces, past the page cache
//! where the file system allows it, on a thread of their own so that building goes on meanwhile.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use super::buffer::PageBuffer;
use super::format::{EXTENT_BYTES, PAGE_BYTES};
use super::index::PageSink;

/// Pieces that wait for the disk at most: the bound on memory.
const PIECES_IN_FLIGHT: usize = 8;
/// The file grows on disk by so much at a time: few and large fragments.
const ALLOCATE_BYTES: u64 = 256 << 20;

/// Writes a new file.
#[derive(Debug)]
pub struct FileSink {
    /// `None` once closed.
    pieces: Option<SyncSender<Piece>>,
    /// Buffers that the disk has taken.
    spare: Receiver<PageBuffer>,
    /// Buffers made so far.
    buffers: usize,
    writer: Option<JoinHandle<io::Result<File>>>,
}

#[derive(Debug)]
struct Piece {
    offset: u64,
    bytes: usize,
    buffer: PageBuffer,
}

impl FileSink {
    /// Creates the file; an old one of that name is replaced.
    pub fn create(path: &Path) -> io::Result<FileSink> {
        let file = open(path)?;
        let (pieces, input) = sync_channel(PIECES_IN_FLIGHT);
        // As many as are ever made, so that giving one back never blocks.
        let (output, spare) = sync_channel(PIECES_IN_FLIGHT + 2);
        let writer = std::thread::Builder::new()
            .name("page writer".to_owned())
            .spawn(move || write_all(file, &input, &output))?;
        Ok(FileSink { pieces: Some(pieces), spare, buffers: 0, writer: Some(writer) })
    }

    /// Waits for the disk, sets the file's length and makes it durable.
    pub fn finish(mut self, length: u64) -> io::Result<()> {
        let file = self.close()?;
        // What was allocated past the end is given back only by a file that shrinks: setting the length that it
        // has, or a greater one, keeps up to 256 MiB a file on the disk that no one sees in its length.
        file.set_len(length + PAGE_BYTES as u64)?;
        file.set_len(length)?;
        file.sync_all()
    }

    fn send(&mut self, piece: Piece) -> io::Result<()> {
        let sent = self.pieces.as_ref().is_some_and(|pieces| pieces.send(piece).is_ok());
        // A writer that is gone has a reason.
        if sent { Ok(()) } else { self.close().and(Err(io::ErrorKind::BrokenPipe.into())) }
    }

    fn close(&mut self) -> io::Result<File> {
        self.pieces = None;
        match self.writer.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            _ => Err(io::Error::other("the page writer has stopped")),
        }
    }

    fn spare(&mut self) -> io::Result<PageBuffer> {
        if let Ok(buffer) = self.spare.try_recv() {
            return Ok(buffer);
        }
        if self.buffers < PIECES_IN_FLIGHT {
            self.buffers += 1;
            return Ok(PageBuffer::new(EXTENT_BYTES));
        }
        match self.spare.recv() {
            Ok(buffer) => Ok(buffer),
            Err(_) => self.close().and(Err(io::ErrorKind::BrokenPipe.into())),
        }
    }
}

impl Drop for FileSink {
    fn drop(&mut self) {
        // An abandoned file is its owner's to delete; the thread must not outlive it.
        let _ = self.close();
    }
}

impl PageSink for FileSink {
    type Error = io::Error;

    fn extent(&mut self, first: u32, bytes: &mut PageBuffer, used_bytes: usize) -> io::Result<()> {
        let buffer = std::mem::replace(bytes, self.spare()?);
        self.send(Piece { offset: offset(first), bytes: used_bytes, buffer })
    }

    fn page(&mut self, number: u32, bytes: &[u8]) -> io::Result<()> {
        let mut buffer = self.spare()?;
        buffer.bytes_mut()[..PAGE_BYTES].copy_from_slice(bytes);
        self.send(Piece { offset: offset(number), bytes: PAGE_BYTES, buffer })
    }
}

fn offset(page: u32) -> u64 {
    u64::from(page) * PAGE_BYTES as u64
}

/// Past the page cache if the file system can.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    // As the server makes its files.
    options.write(true).create(true).truncate(true).mode(0o640);
    match options.clone().custom_flags(libc::O_DIRECT).open(path) {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => options.open(path),
        opened => opened,
    }
}

fn write_all(file: File, input: &Receiver<Piece>, output: &SyncSender<PageBuffer>) -> io::Result<File> {
    let mut allocated = 0;
    let mut can_allocate = true;
    while let Ok(piece) = input.recv() {
        let end = piece.offset + piece.bytes as u64;
        while can_allocate && end > allocated {
            can_allocate = allocate(&file, allocated)?;
            allocated += ALLOCATE_BYTES;
        }
        file.write_all_at(&piece.buffer.bytes()[..piece.bytes], piece.offset)?;
        // Nobody waits for buffers any more when the sink is closing.
        let _ = output.try_send(piece.buffer);
    }
    Ok(file)
}

/// False when the file system has no such thing.
fn allocate(file: &File, from: u64) -> io::Result<bool> {
    match rustix::fs::fallocate(file, rustix::fs::FallocateFlags::KEEP_SIZE, from, ALLOCATE_BYTES) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => Ok(false),
        // Less room than the next piece of that size: the write itself will say whether it was enough.
        Err(rustix::io::Errno::NOSPC) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn a_file_keeps_no_more_of_the_disk_than_its_length() {
        // Beside the test program: a file system in memory, as /tmp can be, allocates nothing ahead.
        let program = std::env::current_exe().unwrap();
        let folder = tempfile::tempdir_in(program.parent().unwrap()).unwrap();
        let path = folder.path().join("t.ibd");
        // Shorter than what is written, as long, longer.
        for pages in [1, 64, 80] {
            let mut sink = FileSink::create(&path).unwrap();
            sink.extent(0, &mut PageBuffer::new(EXTENT_BYTES), EXTENT_BYTES).unwrap();
            sink.finish(offset(pages)).unwrap();
            let file = std::fs::metadata(&path).unwrap();
            assert_eq!(file.len(), offset(pages));
            // A file system may round up and keep its own notes.
            let taken = file.blocks() * 512;
            assert!(taken <= file.len() + EXTENT_BYTES as u64, "{pages} pages take {taken} bytes");
        }
    }
}
