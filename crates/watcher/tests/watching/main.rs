//! The watcher on scripted endpoints: what settlement-watcher.md demands of it, rule by rule.

mod contract_wallets;
mod endpoints;
mod random;
mod reports;
mod rules;
mod scripted;
mod sought;
mod tail;
mod witness;
