//! Recordings, plots, the page and the live server.

mod chart;
mod live;
mod live_client;
mod live_parts;
mod live_task;
mod long_recording;
mod page;
mod protobuf;
