//! An empty table's file as a server would make it, made up without one.
#![allow(clippy::unwrap_used)] // A test that cannot set up its files should stop right there.

const PAGE: usize = 16384;

fn put(page: &mut [u8], at: usize, bytes: &[u8]) {
    page[at..at + bytes.len()].copy_from_slice(bytes);
}

fn seal(page: &mut [u8], number: u32, page_type: u16, space: u32) {
    put(page, 4, &number.to_be_bytes());
    put(page, 16, &LSN.to_be_bytes());
    put(page, 24, &page_type.to_be_bytes());
    put(page, 34, &space.to_be_bytes());
    let sum = (crc32c::crc32c(&page[4..26]) ^ crc32c::crc32c(&page[38..PAGE - 8])).to_be_bytes();
    put(page, 0, &sum);
    put(page, PAGE - 8, &sum);
    put(page, PAGE - 4, &(LSN as u32).to_be_bytes());
}

pub const LSN: u64 = 19_748_035;
const NULL: [u8; 6] = [0xFF, 0xFF, 0xFF, 0xFF, 0, 0];

/// With so many indexes; `extra` pages hold further dictionary information.
pub fn donor(indexes: u32, extra: u32) -> Vec<u8> {
    let (space, used) = (77u32, 4 + indexes + extra);
    let mut pages: Vec<Vec<u8>> = (0..used.max(7)).map(|_| vec![0; PAGE]).collect();
    space_header(&mut pages[0], space, used, indexes);
    seal(&mut pages[0], 0, 8, space);
    seal(&mut pages[1], 1, 5, space);
    let inodes = &mut pages[2];
    put(inodes, 38, &[NULL, NULL].concat());
    // The dictionary's own tree has the first two segments: its root, and the extra pages as its leaves.
    inode(inodes, 0, 1, &[3]);
    inode(inodes, 1, 2, &(4 + indexes..used).collect::<Vec<_>>());
    for index in 0..indexes {
        inode(inodes, 2 + 2 * index, u64::from(3 + 2 * index), &[4 + index]);
        inode(inodes, 3 + 2 * index, u64::from(4 + 2 * index), &[]);
    }
    seal(inodes, 2, 3, space);
    seal(&mut pages[3], 3, 17853, space);
    for page in 4 + indexes..used {
        seal(&mut pages[page as usize], page, 18, space);
    }
    for index in 0..indexes {
        let root = &mut pages[4 + index as usize];
        put(root, 8, &[0xFF; 8]);
        put(root, 66, &(u64::from(index) + 150).to_be_bytes());
        for (at, inode) in [(74, 3 + 2 * index), (84, 2 + 2 * index)] {
            put(root, at, &space.to_be_bytes());
            put(root, at + 4, &2u32.to_be_bytes());
            put(root, at + 8, &(50 + 192 * inode as u16).to_be_bytes());
        }
        seal(root, 4 + index, 17855, space);
    }
    pages.concat()
}

fn space_header(page: &mut [u8], space: u32, used: u32, indexes: u32) {
    put(page, 8, &90_704u32.to_be_bytes());
    put(page, 12, &1u32.to_be_bytes());
    put(page, 38, &space.to_be_bytes());
    put(page, 46, &used.max(7).to_be_bytes());
    put(page, 50, &64u32.to_be_bytes());
    put(page, 54, &0x4021u32.to_be_bytes());
    put(page, 58, &used.to_be_bytes());
    let extent = [0, 0, 0, 0, 0, 158];
    for (at, first) in [(62, NULL), (78, extent), (94, NULL), (118, NULL), (134, [0, 0, 0, 2, 0, 38])] {
        put(page, at, &u32::from(first != NULL).to_be_bytes());
        put(page, at + 4, &first);
        put(page, at + 10, &first);
    }
    put(page, 110, &u64::from(3 + 2 * indexes).to_be_bytes());
    put(page, 158, &[NULL, NULL].concat());
    put(page, 170, &2u32.to_be_bytes());
    put(page, 174, &[0xFF; 16]);
    for number in 0..used as usize {
        page[174 + number / 4] &= !(1 << (number % 4 * 2));
    }
    put(page, 10505, &[0, 0, 0, 1, 0, 0, 0, 3]);
}

fn inode(page: &mut [u8], slot: u32, id: u64, fragments: &[u32]) {
    let at = 50 + 192 * slot as usize;
    put(page, at, &id.to_be_bytes());
    for list in [12, 28, 44] {
        put(page, at + list + 4, &[NULL, NULL].concat());
    }
    put(page, at + 60, &97_937_874u32.to_be_bytes());
    put(page, at + 64, &[0xFF; 128]);
    for (place, fragment) in fragments.iter().enumerate() {
        put(page, at + 64 + 4 * place, &fragment.to_be_bytes());
    }
}
