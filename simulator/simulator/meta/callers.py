"""Finds the account that makes a call to the Graph API, and the objects that the account may see."""

import hashlib
import hmac
from typing import Any

from simulator.accounts import Account
from simulator.meta import errors
from simulator.meta.call import Node
from simulator.simulation import Simulation
from simulator.world import Comment, Post

#: The ids of a page and of its linked Instagram account end in the same 11 digits.
_SHARED_DIGITS = 11

#: A user. All users' tokens have its platform code, and debug_token names its id as the `user_id` of every token.
USER = Account("META_USER", "122100000000001", "Sam Sample", "sam.sample")


def linked_instagram_id(page_id: str) -> str:
    """Returns the id of the Instagram account that is linked to a page."""
    return "178414" + page_id[-_SHARED_DIGITS:]


def caller_of(sim: Simulation, token: str, proof: str) -> Account:
    """Returns the account of a token. Raises GraphError 104 if the token is missing, 190 if it is invalid or expired,
    and 100 if `proof` (the parameter `appsecret_proof`) is wrong.
    """
    if not token:
        raise errors.GraphError(104, "An access token is required to request this resource.")
    account = sim.accounts.holder(token)
    if account is None or account.platform not in ("FB", "IG", USER.platform):
        raise errors.GraphError(190, "Invalid OAuth access token - Cannot parse access token")
    if sim.accounts.is_expired(account.account_id):
        raise errors.expired()
    secret = sim.settings.meta_app_secret
    if proof and secret:
        expected = hmac.new(secret.encode(), token.encode(), hashlib.sha256).hexdigest()
        if not hmac.compare_digest(expected.encode(), proof.encode()):
            message = "Invalid appsecret_proof provided in the API argument"
            raise errors.GraphError(100, message, kind="GraphMethodException")
    return account


def owns(caller: Account, account_id: str) -> bool:
    """Whether the caller's token gives access to an account.

    A user's token gives access to every account. Any other token gives access to its own account, and a page's token
    also to the Instagram account that is linked to the page.
    """
    if caller.platform == USER.platform or caller.account_id == account_id:
        return True
    return caller.platform == "FB" and linked_instagram_id(caller.account_id) == account_id


def find_node(sim: Simulation, caller: Account, node_id: str) -> Node | None:
    """Returns the object with this id, or None if there is none or the caller may not see it."""
    node = _account_node(sim, caller, node_id) or _content_node(sim, node_id)
    return node if node is not None and (node.kind == "User" or owns(caller, node.account_id)) else None


def _account_node(sim: Simulation, caller: Account, node_id: str) -> Node | None:
    person = sim.grants.known(caller.account_id)
    if person is not None and node_id == person.business_id:
        return Node("Business", node_id, "FB", node_id, person)
    if node_id == sim.settings.meta_app_id:
        return Node("App", node_id, "FB", caller.account_id, None)
    account: Account | None
    if node_id in ("me", caller.account_id):
        account = caller
    elif caller.platform == "FB" and node_id == linked_instagram_id(caller.account_id):
        account = Account("IG", node_id, caller.name, caller.username)
    else:
        account = sim.accounts.find(node_id)
    if account is None:
        return None
    kind = {"FB": "Page", "IG": "IGUser", USER.platform: "User"}.get(account.platform)
    platform = "IG" if account.platform == "IG" else "FB"
    return Node(kind, account.account_id, platform, account.account_id, account) if kind else None


def _content_node(sim: Simulation, node_id: str) -> Node | None:
    world = sim.world
    thing: Any = world.posts.get(node_id) or world.comments.get(node_id) or world.staged.get(node_id)
    if isinstance(thing, Comment):
        post = world.posts.get(thing.post_id)
        if post is None:
            return None
        kind = {"FB": "Comment", "IG": "IGComment"}.get(post.platform)
        return Node(kind, node_id, post.platform, post.account_id, thing) if kind else None
    if isinstance(thing, Post):
        kind = {"FB": "Post", "IG": "IGMedia"}.get(thing.platform)
        return Node(kind, node_id, thing.platform, thing.account_id, thing) if kind else None
    if thing is not None:
        return Node(thing.kind, node_id, thing.platform, thing.account_id, thing)
    return None
