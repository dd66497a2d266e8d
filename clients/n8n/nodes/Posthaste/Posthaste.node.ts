import type {
  IDisplayOptions,
  IExecuteSingleFunctions,
  IHttpRequestMethods,
  IN8nHttpFullResponse,
  INodeExecutionData,
  INodeProperties,
  INodePropertyOptions,
  INodeType,
  INodeTypeDescription,
  JsonObject,
} from "n8n-workflow";
import { NodeApiError, NodeConnectionTypes } from "n8n-workflow";

/** Turns a text with commas into a list of texts. */
const LIST = '={{ $value.split(",").map((each) => each.trim()).filter(Boolean) }}';
/** Turns a time into ISO 8601 with an offset. A time without an offset is in the workflow's time zone. */
const TIME = '={{ typeof $value === "string" ? DateTime.fromISO($value).toISO() : $value.toISO() }}';
const JSON_VALUE = '={{ typeof $value === "string" ? JSON.parse($value) : $value }}';
const PLATFORMS = ["Facebook", "Instagram", "LinkedIn", "TikTok", "X", "YouTube"];
/** The idempotency key of a node's run for one item. It is the same for every try, so that "Retry On Fail" never makes
 * a second post. Ids of workflows are random: two installations of n8n do not make the same key. */
const KEY = "=n8n-{{ $workflow.id }}-{{ $execution.id }}-{{ $nodeId }}-{{ $runIndex }}-{{ $itemIndex }}";

function shownFor(resource: string, ...operations: string[]): IDisplayOptions {
  return { show: { resource: [resource], operation: operations } };
}

function operations(resource: string, options: INodePropertyOptions[]): INodeProperties {
  return {
    displayName: "Operation",
    name: "operation",
    type: "options",
    noDataExpression: true,
    displayOptions: { show: { resource: [resource] } },
    options,
    default: options[0]!.value as string,
  };
}

/** Throws the API's error message, which n8n would replace by its own text for the status. */
async function refuse(
  this: IExecuteSingleFunctions,
  items: INodeExecutionData[],
  response: IN8nHttpFullResponse,
): Promise<INodeExecutionData[]> {
  if (response.statusCode < 400) return items;
  const body = (response.body ?? {}) as JsonObject;
  throw new NodeApiError(this.getNode(), body, {
    message: body.error ? String(body.error) : `The server answered ${response.statusCode}`,
    description: body.code ? `${body.code}, request ${body.request_id}` : undefined,
    httpCode: String(response.statusCode),
  });
}

/** Describes an operation that sends one request. `url` may contain n8n's expressions. */
function ask(name: string, value: string, action: string, method: IHttpRequestMethods, url: string): INodePropertyOptions {
  return { name, value, action, routing: { request: { method, url }, output: { postReceive: [refuse] } } };
}

/** Describes an operation that lists items, all or the first ones. `property`: the answer's field with the items. */
function list(name: string, value: string, action: string, url: string, property: string): INodePropertyOptions {
  return {
    name,
    value,
    action,
    routing: {
      request: { method: "GET", url },
      output: { postReceive: [refuse, { type: "rootProperty", properties: { property } }] },
      send: { paginate: '={{ $parameter["returnAll"] }}' },
      operations: {
        pagination: {
          type: "generic",
          properties: {
            continue: "={{ !!$response.body?.next_cursor }}",
            request: { qs: { cursor: "={{ $response.body?.next_cursor ?? undefined }}", limit: 100 } },
          },
        },
      },
    },
  };
}

function sent(type: "body" | "query", property: string, value?: string): INodeProperties["routing"] {
  return { send: { type, property, ...(value === undefined ? {} : { value }) } };
}

function page(shown: IDisplayOptions, type: "body" | "query", required: boolean): INodeProperties {
  return {
    displayName: "Page Name or ID",
    name: "pageId",
    type: "options",
    description:
      'Choose from the list, or specify an ID using an <a href="https://docs.n8n.io/code/expressions/">expression</a>',
    displayOptions: shown,
    default: "",
    required,
    typeOptions: {
      loadOptions: {
        routing: {
          request: { method: "GET", url: "/pages", qs: { limit: 100 } },
          output: {
            postReceive: [
              refuse,
              { type: "rootProperty", properties: { property: "pages" } },
              {
                type: "setKeyValue",
                properties: { name: "={{$responseItem.name}} ({{$responseItem.platform}})", value: "={{$responseItem.id}}" },
              },
              { type: "sort", properties: { key: "name" } },
            ],
          },
        },
      },
    },
    routing: sent(type, "page_id", required ? undefined : "={{ $value || undefined }}"),
  };
}

function text(displayName: string, name: string, shown: IDisplayOptions, more: Partial<INodeProperties>): INodeProperties {
  return { displayName, name, type: "string", default: "", displayOptions: shown, ...more };
}

const COMPOSED = shownFor("post", "publish", "schedule", "validate");
const WRITTEN: IDisplayOptions[] = [shownFor("post", "publish", "schedule", "cancel", "retry"), shownFor("comment", "reply")];
const LISTED: IDisplayOptions[] = [
  shownFor("post", "listScheduled", "listPublished"),
  shownFor("page", "list"),
  shownFor("comment", "list"),
];
const KNOWN = shownFor("post", "get", "cancel", "retry");

/** The node: describes the API's requests for n8n, which sends them. */
export class Posthaste implements INodeType {
  description: INodeTypeDescription = {
    displayName: "Posthaste",
    name: "posthaste",
    icon: "file:posthaste.svg",
    group: ["output"],
    version: 1,
    subtitle: '={{$parameter["operation"] + ": " + $parameter["resource"]}}',
    description: "Publish and schedule posts on Facebook, Instagram, LinkedIn, TikTok, X and YouTube",
    defaults: { name: "Posthaste" },
    inputs: [NodeConnectionTypes.Main],
    outputs: [NodeConnectionTypes.Main],
    usableAsTool: true,
    credentials: [{ name: "posthasteApi", required: true }],
    requestDefaults: {
      baseURL: '={{$credentials.baseUrl.replace(new RegExp("/+$"), "")}}',
      headers: { Accept: "application/json" },
      ignoreHttpStatusErrors: true, // `refuse` raises them
    },
    properties: [
      {
        displayName: "Resource",
        name: "resource",
        type: "options",
        noDataExpression: true,
        options: [
          { name: "Comment", value: "comment" },
          { name: "Page", value: "page" },
          { name: "Post", value: "post" },
        ],
        default: "post",
      },
      operations("post", [
        ask("Publish", "publish", "Publish a post now", "POST", "/posts/publish"),
        ask("Schedule", "schedule", "Schedule a post", "POST", "/posts/schedule"),
        ask("Check", "validate", "Check a post without sending it", "POST", "/posts/validate"),
        ask("Get", "get", "Get a post", "GET", '=/posts/{{$parameter["postId"]}}'),
        list("List Scheduled", "listScheduled", "List scheduled posts", "/posts/scheduled", "scheduled_posts"),
        list("List Published", "listPublished", "List published posts", "/posts/published", "published_posts"),
        ask("Cancel", "cancel", "Cancel a scheduled post", "DELETE", '=/posts/scheduled/{{$parameter["postId"]}}'),
        ask("Retry", "retry", "Try a failed post again", "POST", '=/posts/scheduled/{{$parameter["postId"]}}/retry'),
      ]),
      operations("page", [list("List", "list", "List connected pages", "/pages", "pages")]),
      operations("comment", [
        list("List", "list", "List comments on a post", "/comments", "comments"),
        ask("Reply", "reply", "Reply to a comment", "POST", "/comments/reply"),
      ]),

      page(COMPOSED, "body", true),
      page(shownFor("comment", "list"), "query", true),
      page(shownFor("comment", "reply"), "body", true),
      page(shownFor("post", "listScheduled", "listPublished"), "query", false),
      text("Message", "message", COMPOSED, { typeOptions: { rows: 4 }, routing: sent("body", "message", "={{ $value || undefined }}") }),
      {
        displayName: "Time",
        name: "scheduledAt",
        type: "dateTime",
        default: "",
        required: true,
        description: "When the post goes out. A time without an offset is in the workflow's time zone.",
        displayOptions: shownFor("post", "schedule"),
        routing: sent("body", "scheduled_at", TIME),
      },
      text("Post ID", "postId", KNOWN, { required: true }),
      text("Post ID", "postId", shownFor("comment", "list"), { required: true, routing: sent("query", "post_id") }),
      text("Comment ID", "commentId", shownFor("comment", "reply"), { required: true, routing: sent("body", "comment_id") }),
      text("Message", "message", shownFor("comment", "reply"), { required: true, routing: sent("body", "message") }),
      ...LISTED.map(
        (shown): INodeProperties => ({
          displayName: "Return All",
          name: "returnAll",
          type: "boolean",
          default: false,
          description: "Whether to return all results or only up to a given limit",
          displayOptions: shown,
        }),
      ),
      ...LISTED.map(
        (shown): INodeProperties => ({
          displayName: "Limit",
          name: "limit",
          type: "number",
          typeOptions: { minValue: 1, maxValue: 100 },
          default: 50,
          description: "Max number of results to return",
          displayOptions: { show: { ...shown.show, returnAll: [false] } },
          routing: sent("query", "limit"),
        }),
      ),
      {
        displayName: "Additional Fields",
        name: "additionalFields",
        type: "collection",
        placeholder: "Add Field",
        default: {},
        displayOptions: COMPOSED,
        options: [
          {
            displayName: "First Comment",
            name: "firstComment",
            type: "string",
            default: "",
            description: "Written under the post once it is out",
            routing: sent("body", "first_comment"),
          },
          {
            displayName: "Media IDs",
            name: "mediaIds",
            type: "string",
            default: "",
            description: "Files of the account's media, between commas",
            routing: sent("body", "media_ids", LIST),
          },
          {
            displayName: "Media URLs",
            name: "mediaUrls",
            type: "string",
            default: "",
            description: "Public addresses of photos or of a video, between commas",
            routing: sent("body", "media_urls", LIST),
          },
          ...PLATFORMS.map(
            (platform): INodeProperties => ({
              displayName: `${platform} Settings`,
              name: `${platform.toLowerCase()}Settings`,
              type: "json",
              default: "{}",
              description: "What only this platform has, as JSON",
              routing: sent("body", `${platform.toLowerCase()}_settings`, JSON_VALUE),
            }),
          ),
        ],
      },
      ...WRITTEN.map((shown) =>
        text("Idempotency Key", "idempotencyKey", shown, {
          default: KEY,
          description: "Requests with the same key take effect once. The default is the same for every try of an execution.",
          routing: { request: { headers: { "Idempotency-Key": "={{ $value }}" } } },
        }),
      ),
    ],
  };
}
