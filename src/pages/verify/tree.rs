//! The pages of each index as a tree: neighbours, parents, levels, counts.

use std::collections::HashMap;

use super::content::{Edge, IndexPages, Key, NONE, Root};
use super::extents::Owners;
use super::{Fault, VerifiedIndex};

/// What is kept of each page: a few bytes.
struct Node {
    page: u32,
    previous: u32,
    next: u32,
    index: u16,
    level: u16,
    records: u16,
    record_bytes: u16,
    first_key: u64,
    /// Of an inner page: where its children begin in `children`.
    children: usize,
}

/// All pages seen, in the order of their numbers.
pub struct Trees {
    nodes: Vec<Node>,
    children: Vec<(u32, u64)>,
    indexes: usize,
    /// Last keys of pages whose right sibling has not been seen yet, by that sibling, with their own number.
    awaiting_right: HashMap<u32, (u32, Key)>,
    /// First keys of pages that were seen before their left sibling.
    awaiting_left: HashMap<u32, Key>,
}

impl Trees {
    pub fn new(indexes: usize) -> Trees {
        Trees {
            nodes: Vec::new(),
            children: Vec::new(),
            indexes,
            awaiting_right: HashMap::new(),
            awaiting_left: HashMap::new(),
        }
    }

    /// Takes a page that is right by itself.
    pub fn add(&mut self, page: u32, edge: Edge, pages: &IndexPages) -> Result<(), Fault> {
        self.nodes.push(Node {
            page,
            previous: edge.previous,
            next: edge.next,
            index: edge.index as u16,
            level: edge.level,
            records: edge.records,
            record_bytes: edge.record_bytes as u16,
            first_key: edge.first.hash(),
            children: self.children.len(),
        });
        self.children.extend(edge.children);
        if edge.previous != NONE {
            match self.awaiting_right.remove(&page) {
                Some((left, last)) if left == edge.previous => {
                    pages.check_order(page, edge.index, &last, &edge.first)?
                }
                Some((left, _)) => {
                    return Fault::at(
                        page,
                        format!("page {left} calls it its right sibling, but not the reverse"),
                    );
                }
                None => {
                    self.awaiting_left.insert(page, edge.first);
                }
            }
        }
        if edge.next == NONE {
            return Ok(());
        }
        if let Some(first) = self.awaiting_left.remove(&edge.next) {
            return pages.check_order(edge.next, edge.index, &edge.last, &first);
        }
        match self.awaiting_right.insert(edge.next, (page, edge.last)) {
            None => Ok(()),
            Some((other, _)) => Fault::at(page, format!("has the same right sibling as page {other}")),
        }
    }

    /// Checks that the pages are trees and nothing else.
    pub fn check(&self, roots: &[Root], owners: &Owners) -> Result<Vec<VerifiedIndex>, Fault> {
        if roots.len() != self.indexes {
            return Fault::at(
                4,
                format!("{} roots are there, {} indexes are defined", roots.len(), self.indexes),
            );
        }
        // What still waits has a sibling that is no page of any index.
        if let Some((missing, (page, _))) = self.awaiting_right.iter().next() {
            return Fault::at(*page, format!("its right sibling, page {missing}, is no such page"));
        }
        if let Some(page) = self.awaiting_left.keys().next() {
            return Fault::at(*page, "its left sibling does not know it");
        }
        let mut seen = vec![false; self.nodes.len()];
        let mut verified = Vec::new();
        for (index, root) in roots.iter().enumerate() {
            verified.push(self.check_index(index, root, owners, &mut seen)?);
        }
        if let Some(lost) = seen.iter().position(|seen| !seen) {
            return Fault::at(self.nodes[lost].page, "is an index page that no tree leads to");
        }
        if let Some(index) = verified.iter().position(|index| index.rows != verified[0].rows) {
            let (rows, expected) = (verified[index].rows, verified[0].rows);
            return Fault::at(roots[index].page, format!("its index has {rows} entries for {expected} rows"));
        }
        Ok(verified)
    }

    fn find(&self, page: u32) -> Option<usize> {
        self.nodes.binary_search_by_key(&page, |node| node.page).ok()
    }

    /// From the root down, level by level: what the parents list is the chain of siblings.
    fn check_index(
        &self,
        index: usize,
        root: &Root,
        owners: &Owners,
        seen: &mut [bool],
    ) -> Result<VerifiedIndex, Fault> {
        let Some(top) = self.find(root.page) else { return Fault::at(root.page, "is no root") };
        let mut verified =
            VerifiedIndex { id: root.id, levels: self.nodes[top].level + 1, ..Default::default() };
        let mut level: Vec<(u32, u64)> = vec![(root.page, self.nodes[top].first_key)];
        for height in (0..verified.levels).rev() {
            if height + 1 < verified.levels && level.len() < 2 {
                return Fault::at(level[0].0, "is alone on a level below the root");
            }
            let mut below = Vec::new();
            for (place, (page, first_key)) in level.iter().enumerate() {
                let sibling =
                    |place: Option<usize>| place.and_then(|at| level.get(at)).map_or(NONE, |(page, _)| *page);
                let Some(node) = self.find(*page) else {
                    return Fault::at(*page, "is a child but no index page");
                };
                if std::mem::replace(&mut seen[node], true) {
                    return Fault::at(*page, "has two parents");
                }
                let node = &self.nodes[node];
                if (node.previous, node.next) != (sibling(place.checked_sub(1)), sibling(Some(place + 1))) {
                    return Fault::at(*page, "its siblings are not its neighbours under the parents");
                }
                if usize::from(node.index) != index || node.level != height {
                    return Fault::at(
                        *page,
                        format!("is on level {} of an index, its parent on another", node.level),
                    );
                }
                if node.first_key != *first_key {
                    return Fault::at(*page, "does not begin with the key that its parent says");
                }
                // The root belongs to the segment of inner pages even while it is a leaf.
                if !owners.owns(index, height == 0 && *page != root.page, *page) {
                    return Fault::at(*page, "belongs to another segment");
                }
                if height > 0 {
                    below.extend_from_slice(&self.children[node.children..][..usize::from(node.records)]);
                    verified.inner_pages += 1;
                } else {
                    verified.rows += u64::from(node.records);
                    verified.leaf_pages += 1;
                    verified.order.add(node.page, node.next, usize::from(node.record_bytes), node.records);
                }
            }
            level = below;
        }
        Ok(verified)
    }
}
