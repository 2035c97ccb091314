//! The machine that we and, unless it is attached, the server run on.

use sysinfo::{MemoryRefreshKind, RefreshKind, System};

use crate::units::Bytes;

/// Main memory, or what the control group allows of it; 0 on a system that does not say.
pub fn memory() -> Bytes {
    let kind = RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram());
    let Ok(system) = System::new_with_specifics(kind) else { return Bytes(0) };
    let limit = system.cgroup_limits().map(|limits| limits.total_memory).filter(|limit| *limit > 0);
    Bytes(limit.unwrap_or(u64::MAX).min(system.total_memory()))
}
