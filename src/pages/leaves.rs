//! Where the leaves of an index lie: the extents that are being filled, and which page is the next leaf's.
//!
//! In order, one extent after another is filled from front to back. Shuffled, a leaf goes to a free page
//! of one of many extents that are open at a time, and these are opened in shuffled order out of a stretch
//! that is set aside beforehand. Either way the disk gets whole extents, and memory holds the open ones.

use super::buffer::PageBuffer;
use super::fill::{AgedProfile, Draws};
use super::format::*;
use super::index::PageSink;
use super::space::{Segment, Space};

/// Extents that are open at a time at most: the bound on memory, and how far a leaf may lie behind others
/// that come before it.
const OPEN_EXTENTS_MAX: usize = 64;

/// The leaves of one index.
#[derive(Debug)]
pub struct LeafPlaces {
    segment: Segment,
    open: Vec<OpenExtent>,
    /// Where the leaf at hand lies: an open extent and a page of it.
    at: (usize, u32),
    next: (usize, u32),
    shuffle: Option<Shuffle>,
    /// Buffers that have been written.
    spare: Vec<PageBuffer>,
}

#[derive(Debug)]
struct OpenExtent {
    /// Its first page; [`NO_PAGE`] while the index has a single leaf, whose place is the root's.
    first: u32,
    buffer: PageBuffer,
    /// Pages that may still be taken, and that were: a bit each.
    free: u64,
    used: u64,
}

#[derive(Debug)]
struct Shuffle {
    profile: AgedProfile,
    draws: Draws,
    drawn: u64,
    opened: u64,
    /// Extents set aside and not opened yet; the last one is the next.
    aside: Vec<u32>,
    /// Successors on the next page, and in the same extent, that are still to come to reach their shares.
    owed: [f64; 2],
}

/// The only page of a segment's first leaf.
const FIRST_PAGE: u64 = 1;

impl LeafPlaces {
    /// In order, or shuffled as the profile has it.
    pub fn new(segment: Segment, shuffled: Option<(AgedProfile, Draws)>) -> LeafPlaces {
        let first = OpenExtent {
            first: NO_PAGE,
            buffer: PageBuffer::new(EXTENT_BYTES),
            free: !FIRST_PAGE,
            used: FIRST_PAGE,
        };
        let shuffle = shuffled.map(|(profile, draws)| Shuffle {
            profile,
            draws,
            drawn: 0,
            opened: 0,
            aside: Vec::new(),
            owed: [0.0; 2],
        });
        LeafPlaces { segment, open: vec![first], at: (0, 0), next: (0, 0), shuffle, spare: Vec::new() }
    }

    /// The bytes of the leaf at hand.
    #[inline]
    pub fn page_mut(&mut self) -> &mut [u8] {
        let (extent, page) = self.at;
        let at = page as usize * PAGE_BYTES;
        &mut self.open[extent].buffer.bytes_mut()[at..at + PAGE_BYTES]
    }

    /// The number of the leaf at hand; `None` as long as it is the only one.
    pub fn number(&self) -> Option<u32> {
        let (extent, page) = self.at;
        let first = self.open[extent].first;
        (first != NO_PAGE).then_some(first + page)
    }

    /// Chooses the place of the next leaf. The numbers of the leaf at hand and of the next. `leaves` is how
    /// many are still to come, as far as one can tell.
    pub fn choose_next(&mut self, space: &mut Space, leaves: impl FnOnce() -> u64) -> (u32, u32) {
        self.set_aside(space, leaves);
        if self.open[0].first == NO_PAGE {
            self.open[0].first = self.take_extent(space);
        }
        self.next = match &mut self.shuffle {
            None => self.in_order(space),
            Some(_) => self.shuffled(space),
        };
        let (extent, page) = self.next;
        self.open[extent].free &= !(1 << page);
        self.open[extent].used |= 1 << page;
        let number = |(extent, page): (usize, u32)| self.open[extent].first + page;
        (number(self.at), number(self.next))
    }

    /// Goes on to the place that was chosen; the leaf at hand is closed.
    pub fn advance<S: PageSink>(&mut self, space: &mut Space, sink: &mut S) -> Result<(), S::Error> {
        let left = self.at.0;
        self.at = self.next;
        if left != self.at.0 && self.open[left].free == 0 {
            self.write(left, space, sink)?;
            // The last one has taken its place.
            if self.at.0 == self.open.len() {
                self.at.0 = left;
            }
        }
        Ok(())
    }

    /// Writes what is still open; all leaves are closed.
    pub fn finish<S: PageSink>(&mut self, space: &mut Space, sink: &mut S) -> Result<(), S::Error> {
        self.open.sort_by_key(|extent| std::cmp::Reverse(extent.first));
        while let Some(last) = self.open.len().checked_sub(1) {
            self.write(last, space, sink)?;
        }
        for first in self.shuffle.iter_mut().flat_map(|shuffle| shuffle.aside.drain(..)) {
            space.give_back(first);
        }
        Ok(())
    }

    /// Sees to it that there are extents to open for shuffled leaves that are to come.
    fn set_aside(&mut self, space: &mut Space, leaves: impl FnOnce() -> u64) {
        let Some(shuffle) = self.shuffle.as_mut().filter(|shuffle| shuffle.aside.is_empty()) else { return };
        let unnamed = u64::from(self.open[0].first == NO_PAGE);
        // The extent of the first leaf is not one of those that were set aside.
        let free: u64 = self.open.iter().map(|open| u64::from(open.free.count_ones())).sum();
        let missing = leaves().saturating_sub(free * (1 - unnamed));
        let reserve = shuffle.profile.reserve_extents();
        let pages = f64::from(EXTENT_PAGES) * (1.0 - reserve) + reserve;
        // A file of 2^32 pages has no more extents than that.
        let extents = (missing as f64 / pages).ceil().min(f64::from(u32::MAX / EXTENT_PAGES)) as usize;
        shuffle.aside = (0..extents).map(|_| space.take_extent(self.segment)).collect();
        for place in (1..extents).rev() {
            let other = shuffle.draw(place + 1);
            shuffle.aside.swap(place, other);
        }
    }

    fn take_extent(&mut self, space: &mut Space) -> u32 {
        let aside = self.shuffle.as_mut().and_then(|shuffle| shuffle.aside.pop());
        aside.unwrap_or_else(|| space.take_extent(self.segment))
    }

    fn open_extent(&mut self, space: &mut Space) -> usize {
        let first = self.take_extent(space);
        let buffer = self.spare.pop().unwrap_or_else(|| PageBuffer::new(EXTENT_BYTES));
        let free = self.shuffle.as_mut().map_or(u64::MAX, Shuffle::free_pages);
        self.open.push(OpenExtent { first, buffer, free, used: 0 });
        self.open.len() - 1
    }

    fn in_order(&mut self, space: &mut Space) -> (usize, u32) {
        let (extent, page) = self.at;
        if page + 1 < EXTENT_PAGES {
            return (extent, page + 1);
        }
        (self.open_extent(space), 0)
    }

    fn shuffled(&mut self, space: &mut Space) -> (usize, u32) {
        let (extent, page) = self.at;
        let free_here = self.open[extent].free;
        let next_is_free = page + 1 < EXTENT_PAGES && free_here >> (page + 1) & 1 == 1;
        let Some(shuffle) = &mut self.shuffle else { return self.at };
        let (next_due, extent_due) = shuffle.due();
        let chosen = if next_due && next_is_free {
            (extent, page + 1)
        } else if extent_due && free_here != 0 {
            (extent, shuffle.page_of(free_here))
        } else {
            let place = self.other_extent(space);
            let free = self.open[place].free;
            let Some(shuffle) = &mut self.shuffle else { return self.at };
            (place, shuffle.page_of(free))
        };
        if let Some(shuffle) = &mut self.shuffle {
            shuffle.note(chosen == (extent, page + 1), chosen.0 == extent);
        }
        chosen
    }

    /// An extent other than that of the leaf at hand, if there is one: any free page of those that are open,
    /// or may be opened, is as likely, so that all of them end together.
    fn other_extent(&mut self, space: &mut Space) -> usize {
        let here = self.at.0;
        let free = |open: &OpenExtent| open.free.count_ones() as usize;
        let Some(shuffle) = &mut self.shuffle else { return here };
        let unopened = shuffle.aside.len().min(OPEN_EXTENTS_MAX.saturating_sub(self.open.len()));
        let others = || self.open.iter().enumerate().filter(|(place, _)| *place != here);
        let opened: usize = others().map(|(_, open)| free(open)).sum();
        let pages = opened + unopened * EXTENT_PAGES as usize;
        if pages == 0 {
            return if free(&self.open[here]) > 0 { here } else { self.open_extent(space) };
        }
        let mut drawn = shuffle.draw(pages);
        for (place, open) in others() {
            match drawn.checked_sub(free(open)) {
                Some(rest) => drawn = rest,
                None => return place,
            }
        }
        self.open_extent(space)
    }

    /// Hands an extent over and forgets it.
    fn write<S: PageSink>(&mut self, place: usize, space: &mut Space, sink: &mut S) -> Result<(), S::Error> {
        let OpenExtent { first, mut buffer, used, .. } = self.open.swap_remove(place);
        space.use_pages(first, used);
        let end = EXTENT_PAGES - used.leading_zeros();
        for page in (0..end).filter(|page| used >> page & 1 == 0) {
            buffer.bytes_mut()[page as usize * PAGE_BYTES..][..PAGE_BYTES].fill(0);
        }
        sink.extent(first, &mut buffer, end as usize * PAGE_BYTES)?;
        self.spare.push(buffer);
        Ok(())
    }
}

impl Shuffle {
    fn draw(&mut self, below: usize) -> usize {
        self.drawn += 1;
        self.draws.below(self.drawn, below)
    }

    fn fraction(&mut self) -> f64 {
        self.drawn += 1;
        self.draws.fraction(self.drawn)
    }

    /// The pages of the next extent that are used in the end: all, or the first alone, so often that even a
    /// few extents have the right share.
    fn free_pages(&mut self) -> u64 {
        self.opened += 1;
        let reserve = |opened: u64| (opened as f64 * self.profile.reserve_extents() + 0.5) as u64;
        if reserve(self.opened) > reserve(self.opened - 1) { FIRST_PAGE } else { u64::MAX }
    }

    /// Any of the pages.
    fn page_of(&mut self, pages: u64) -> u32 {
        let nth = self.draw(pages.count_ones() as usize);
        nth_set(pages, nth)
    }

    /// Whether the successor should be the next page, or lie in the same extent.
    fn due(&mut self) -> (bool, bool) {
        self.owed[0] += self.profile.consecutive();
        self.owed[1] += self.profile.same_extent();
        (self.owed[0] > self.fraction(), self.owed[1] > self.fraction())
    }

    fn note(&mut self, next: bool, same_extent: bool) {
        // What cannot be had for long is not made up for all at once.
        const OWED_MAX: f64 = 8.0;
        self.owed[0] = (self.owed[0] - f64::from(next)).clamp(-OWED_MAX, OWED_MAX);
        self.owed[1] = (self.owed[1] - f64::from(same_extent)).clamp(-OWED_MAX, OWED_MAX);
    }
}

/// The place of a word's `nth` set bit, which it has.
fn nth_set(mut word: u64, nth: usize) -> u32 {
    for _ in 0..nth {
        word &= word.wrapping_sub(1);
    }
    word.trailing_zeros() % EXTENT_PAGES
}
