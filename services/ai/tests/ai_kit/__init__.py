"""Code that the tests of the AI service share: fakes, a scripted server, and ways to end a process at any step."""
