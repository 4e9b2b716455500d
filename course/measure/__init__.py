"""What a run did, measured: messages, and where its time went."""
