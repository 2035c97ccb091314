//! Memory as direct I/O wants it.

/// Bytes at an address that the disk can take directly.
#[derive(Debug)]
pub struct PageBuffer {
    storage: Vec<u8>,
    start: usize,
    length: usize,
}

/// What direct I/O asks of addresses, lengths and offsets; no common disk asks for more.
const ALIGNMENT: usize = 4096;

impl PageBuffer {
    /// So many zero bytes.
    pub fn new(length: usize) -> PageBuffer {
        let storage = vec![0; length + ALIGNMENT];
        let start = storage.as_ptr().addr().next_multiple_of(ALIGNMENT) - storage.as_ptr().addr();
        PageBuffer { storage, start, length }
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.storage[self.start..self.start + self.length]
    }

    /// The bytes, to be changed.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.storage[self.start..self.start + self.length]
    }
}
