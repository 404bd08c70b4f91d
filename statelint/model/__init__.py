"""What rules look at: plain data, read off the source or off a trace."""
