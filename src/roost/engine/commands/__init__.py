"""What each chat command does. Which there are and how they are read is `core.commands`."""
