"""What Facebook and Instagram share: one Graph API, its settings, its error codes."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class MetaSettings:
    """How to reach the Graph API. Times in seconds."""

    facebook_url: str = "https://graph.facebook.com"
    instagram_url: str = "https://graph.facebook.com"
    graph_version: str = "v26.0"
    #: Signs every call (`appsecret_proof`) when set.
    app_secret: str = field(default="", repr=False)
    connect_timeout_seconds: float = 5.0
    read_timeout_seconds: float = 30.0
    #: First wait between two looks at a container or video; doubles up to 5 s. Our choice.
    poll_seconds: float = 0.5
    #: Longest a publish waits for processing (platforms.md 3: Meta says five minutes).
    poll_limit_seconds: float = 300.0
