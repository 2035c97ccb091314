//! What MySQL would accept and its users would regret.
