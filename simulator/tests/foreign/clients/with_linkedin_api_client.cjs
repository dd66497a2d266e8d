// linkedin-api-client, LinkedIn's own client for Node, for a company page.
const assert = require("node:assert/strict");
const trial = require("./trial.cjs");
const { AuthClient, RestliClient } = require("linkedin-api-client");

const [clientId, clientSecret] = trial.app("LN_pages");
const auth = new AuthClient({ clientId, clientSecret, redirectUrl: trial.callback("linkedin") });
const linkedin = new RestliClient();
const scopes = [
  "r_basicprofile", "rw_organization_admin", "w_organization_social", "r_organization_social",
  "w_organization_social_feed", "r_organization_social_feed",
];
/** A name in a path: encodeURIComponent leaves parentheses as they are. */
const named = (urn) => encodeURIComponent(urn).replace(/[()]/g, escape);
let tokens, page, image, post, comment, call;

/** The comments of a post or of a comment. */
const comments = (urn) => `/socialActions/${named(urn)}/comments`;
const say = (urn, object, text, more = {}) =>
  linkedin.create({ ...call, resourcePath: comments(urn), entity: { actor: page, object, message: { text }, ...more } });

trial.report("linkedin-api-client", "LinkedIn", {
  "log in": async () => {
    const back = await trial.visit(auth.generateMemberAuthorizationUrl(scopes, "s"));
    tokens = await auth.exchangeAuthCodeForAccessToken(back.get("code"));
    assert.deepEqual(tokens.scope.split(","), scopes);
  },
  refresh: async () => {
    const fresh = await auth.exchangeRefreshTokenForAccessToken(tokens.refresh_token);
    assert.notEqual(fresh.access_token, tokens.access_token);
    assert.equal((await auth.introspectAccessToken(fresh.access_token)).data.active, true);
    call = { versionString: "202607", accessToken: fresh.access_token };
    const me = await linkedin.get({ resourcePath: "/me", accessToken: fresh.access_token });
    assert.ok(me.data.localizedFirstName);
  },
  upload: async () => {
    const roles = { role: "ADMINISTRATOR", state: "APPROVED" };
    const found = await linkedin.finder({
      ...call, resourcePath: "/organizationAcls", finderName: "roleAssignee", queryParams: roles,
    });
    page = found.data.elements[0].organization;
    const data = { initializeUploadRequest: { owner: page } };
    const begun = await linkedin.action({ ...call, resourcePath: "/images", actionName: "initializeUpload", data });
    image = begun.data.value.image;
    // The client has no call for the bytes: they go through its HTTP client.
    await linkedin.axiosInstance.put(begun.data.value.uploadUrl, await trial.sample("photo-640x640.jpg"), {
      headers: { Authorization: `Bearer ${call.accessToken}`, "Content-Type": "image/jpeg" },
    });
    const until = Date.now() + 60_000;
    let shown;
    do shown = await linkedin.get({ ...call, resourcePath: "/images/{id}", pathKeys: { id: image } });
    while (shown.data.status === "PROCESSING" && Date.now() < until);
    assert.equal(shown.data.status, "AVAILABLE");
  },
  post: async () => {
    const entity = {
      author: page, commentary: "Frish rye", visibility: "PUBLIC", lifecycleState: "PUBLISHED",
      distribution: { feedDistribution: "MAIN_FEED" }, content: { media: { id: image, altText: "A loaf" } },
    };
    post = (await linkedin.create({ ...call, resourcePath: "/posts", entity })).createdEntityId;
    const patchSetObject = { commentary: "Fresh rye" };
    assert.equal((await linkedin.partialUpdate({ ...call, resourcePath: "/posts/{id}", pathKeys: { id: post }, patchSetObject })).status, 204);
  },
  read: async () => {
    assert.equal((await linkedin.get({ ...call, resourcePath: "/posts/{id}", pathKeys: { id: post } })).data.commentary, "Fresh rye");
    const batch = await linkedin.batchGet({ ...call, resourcePath: "/posts", ids: [post, "urn:li:share:1"] });
    assert.deepEqual(Object.keys(batch.data.results), [post]);
    assert.deepEqual(Object.keys(batch.data.errors), ["urn:li:share:1"]);
    const queryParams = { author: page, count: 10, sortBy: "CREATED" };
    const own = await linkedin.finder({ ...call, resourcePath: "/posts", finderName: "author", queryParams });
    assert.deepEqual(own.data.elements.map((row) => row.id), [post]);
    assert.ok((await linkedin.get({ ...call, resourcePath: "/socialMetadata/{id}", pathKeys: { id: post } })).data.commentSummary);
  },
  comment: async () => {
    comment = (await say(post, post, "Recipe below")).data;
    await trial.comment("LN", post, "Open on Sunday?");
    const rows = await linkedin.getAll({ ...call, resourcePath: comments(post), queryParams: { start: 0, count: 10 } });
    assert.equal(rows.data.elements.length, 2);
  },
  reply: async () => {
    const made = await say(comment.commentUrn, comment.object, "Rye, salt", { parentComment: comment.commentUrn });
    const rows = await linkedin.getAll({ ...call, resourcePath: comments(comment.commentUrn) });
    assert.deepEqual(rows.data.elements.map((row) => row.id), [made.data.id]);
  },
  delete: async () => {
    const queryParams = { actor: page };
    await linkedin.delete({ ...call, resourcePath: `${comments(post)}/{id}`, pathKeys: { id: comment.id }, queryParams });
    assert.equal((await linkedin.delete({ ...call, resourcePath: "/posts/{id}", pathKeys: { id: post } })).status, 204);
    await assert.rejects(linkedin.get({ ...call, resourcePath: "/posts/{id}", pathKeys: { id: post } }), { message: /404/ });
  },
});
