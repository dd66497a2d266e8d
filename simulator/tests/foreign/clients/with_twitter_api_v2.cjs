// twitter-api-v2, the widely used client of X for Node.
const assert = require("node:assert/strict");
const trial = require("./trial.cjs");
const { TwitterApi } = require("twitter-api-v2");

const [clientId, clientSecret] = trial.app("TW");
const app = new TwitterApi({ clientId, clientSecret });
const redirectUri = trial.callback("twitter");
const scope = ["tweet.read", "tweet.write", "users.read", "media.write", "offline.access"];
const fields = { "tweet.fields": ["author_id", "attachments", "conversation_id", "created_at", "referenced_tweets"] };
let user, refreshToken, mediaIds, postId, commentId, me;

trial.report("twitter-api-v2", "X", {
  "log in": async () => {
    const { url, codeVerifier, state } = app.generateOAuth2AuthLink(redirectUri, { scope });
    const back = await trial.visit(url);
    assert.equal(back.get("state"), state);
    ({ client: user, refreshToken } = await app.loginWithOAuth2({ code: back.get("code"), codeVerifier, redirectUri }));
  },
  refresh: async () => {
    const spent = refreshToken;
    ({ client: user, refreshToken } = await app.refreshOAuth2Token(refreshToken));
    await assert.rejects(app.refreshOAuth2Token(spent));
  },
  upload: async () => {
    const photo = await trial.sample("photo-640x640.jpg");
    const film = await trial.sample("video-5s-64x64.mp4");
    const photoId = await user.v2.uploadMedia(photo, { media_type: "image/jpeg", media_category: "tweet_image" }, 1024);
    const filmId = await user.v2.uploadMedia(film, { media_type: "video/mp4", media_category: "tweet_video" }, 1024);
    await user.v2.createMediaMetadata(photoId, { alt_text: { text: "A loaf" } });
    mediaIds = [photoId, filmId];
  },
  post: async () => {
    await user.v2.tweet("A film", { media: { media_ids: [mediaIds[1]] } });
    postId = (await user.v2.tweet("Fresh rye", { media: { media_ids: [mediaIds[0]] } })).data.id;
  },
  read: async () => {
    me = (await user.v2.me({ "user.fields": ["profile_image_url", "public_metrics"] })).data;
    const posts = await user.v2.userTimeline(me.id, { ...fields, max_results: 5 });
    assert.equal(posts.tweets.length, 2);
    assert.equal(posts.tweets[0].id, postId);
    assert.equal(posts.tweets[0].attachments.media_keys.length, 1);
    assert.equal((await user.v2.singleTweet(postId, fields)).data.author_id, me.id);
  },
  comment: async () => {
    commentId = (await user.v2.reply("Recipe below", postId)).data.id;
    const found = await user.v2.search(`conversation_id:${postId}`, { ...fields, expansions: ["author_id"] });
    assert.deepEqual(found.tweets.map((row) => row.id), [commentId, postId]);
  },
  reply: async () => {
    const visitors = await trial.comment("TW", postId, "Open on Sunday?");
    const made = await user.v2.reply("From eight", visitors);
    const shown = await user.v2.singleTweet(made.data.id, fields);
    assert.deepEqual(shown.data.referenced_tweets, [{ type: "replied_to", id: visitors }]);
  },
  delete: async () => {
    for (const id of [commentId, postId]) assert.deepEqual((await user.v2.deleteTweet(id)).data, { deleted: true });
    await app.revokeOAuth2Token(refreshToken, "refresh_token");
    await assert.rejects(user.v2.me());
  },
});
