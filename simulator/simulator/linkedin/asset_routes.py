"""LinkedIn's routes for photos and films: those of the API, and the URLs to which files are uploaded."""

from typing import Any

from flask import Blueprint, Response, request

from simulator.accounts import Account
from simulator.hosts import url_of
from simulator.linkedin import errors
from simulator.linkedin.assets import Asset, Assets
from simulator.linkedin.errors import denied, invalid
from simulator.linkedin.gate import Answer, Gate
from simulator.simulation import Simulation


def add(linkedin: Blueprint, assets: Assets, gate: Gate) -> None:
    """Adds the routes under /rest/images and /rest/videos."""
    _add_kind(linkedin, "image", assets, gate)
    _add_kind(linkedin, "video", assets, gate)


def uploads(sim: Simulation, assets: Assets, gate: Gate) -> Blueprint:
    """Returns the routes of the URLs to which files are uploaded."""
    files = Blueprint("linkedin-uploads", __name__)

    @files.put("/dms-uploads/<urn>/<int:number>")
    def put(urn: str, number: int) -> Response:
        asset = assets.find(urn)
        if asset.kind == "image" and gate.caller().account_id != asset.owner:
            raise denied(urn)
        data = request.get_data()
        mode = sim.faults.take("LN", "upload", asset.owner)
        etag = sim.faults.play(
            mode, lambda refused: errors.refusal(refused, "upload"), lambda: assets.take(asset, number, data)
        )
        return Response(status=201 if asset.kind == "image" else 200, headers={"ETag": f'"{etag}"'})

    return files


def _add_kind(linkedin: Blueprint, kind: str, assets: Assets, gate: Gate) -> None:
    @linkedin.post(f"/rest/{kind}s", endpoint=f"act_on_{kind}")
    def act_on() -> Response:
        body = request.get_json(silent=True) or {}
        action = request.args.get("action", "")
        asked = body.get(f"{action}Request")
        if not isinstance(asked, dict):
            raise invalid(f"{action}Request", "field is required but not found", "MISSING_FIELD")

        def act(account: Account) -> Answer:
            if action == "finalizeUpload" and kind == "video":
                asset = _owned(assets, account, str(asked.get("video")))
                assets.finish(asset, str(asked.get("uploadToken")), list(asked.get("uploadedPartIds") or ()))
                return {}
            if action != "initializeUpload":
                raise invalid("action", f"{action} is not there", "ILLEGAL_ARGUMENT")
            if asked.get("owner") != account.account_id:
                raise denied(f"{kind}s.ACTION-initializeUpload")
            return {
                "value": _begun(assets.begin(kind, account.account_id, int(asked.get("fileSizeBytes") or 0)))
            }

        return gate.run("upload", act, member="w_member_social", page="w_organization_social")

    @linkedin.get(f"/rest/{kind}s/<urn>", endpoint=f"show_{kind}")
    def show(urn: str) -> Response:
        def look(account: Account) -> Asset:
            if not account.account_id.startswith("urn:li:organization:") or not gate.tells_file_state:
                raise denied(f"{kind}s.GET")
            return _owned(assets, account, urn)

        def fail(account: Account) -> Answer:
            asset = look(account)
            asset.failure, asset.ready_ticks = "Refused", 0.0
            return assets.state(asset)

        return gate.run("status", lambda account: assets.state(look(account)), on_reject=fail)


def _owned(assets: Assets, account: Account, urn: str) -> Asset:
    asset = assets.find(urn)
    if asset.owner != account.account_id:
        raise denied(urn)
    return asset


def _begun(asset: Asset) -> dict[str, Any]:
    paths = (f"/dms-uploads/{asset.urn}/{number}" for number in range(len(asset.parts)))
    addresses = [url_of("www.linkedin.com", path) for path in paths]
    expires_at = int(asset.expires_at * 1000)
    if asset.kind == "image":
        return {"image": asset.urn, "uploadUrl": addresses[0], "uploadUrlExpiresAt": expires_at}
    return {
        "video": asset.urn,
        "uploadToken": asset.token,
        "uploadUrlsExpireAt": expires_at,
        "uploadInstructions": [
            {"uploadUrl": url, "firstByte": first, "lastByte": last}
            for url, (first, last) in zip(addresses, asset.parts, strict=True)
        ],
    }
