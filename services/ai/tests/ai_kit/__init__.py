"""Code that the tests of the AI service share: fakes, a scripted server, and functions that end a process at a step."""
