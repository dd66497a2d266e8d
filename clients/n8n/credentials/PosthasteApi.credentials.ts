import type { IAuthenticateGeneric, ICredentialTestRequest, ICredentialType, INodeProperties } from "n8n-workflow";

/** The address of a Posthaste server, and an API token of it. */
export class PosthasteApi implements ICredentialType {
  name = "posthasteApi";

  displayName = "Posthaste API";

  properties: INodeProperties[] = [
    {
      displayName: "Base URL",
      name: "baseUrl",
      type: "string",
      default: "",
      placeholder: "https://post.example.com/api/v1",
      description: "Address of your installation's API. It ends in /api/v1.",
      required: true,
    },
    {
      displayName: "Token",
      name: "token",
      type: "string",
      typeOptions: { password: true },
      default: "",
      description: "Made in the dashboard under Developers. Scopes: read:pages, read:posts, write:posts, and read:comments and write:comments for comments.",
      required: true,
    },
  ];

  authenticate: IAuthenticateGeneric = {
    type: "generic",
    properties: { headers: { Authorization: "=Bearer {{$credentials.token}}" } },
  };

  test: ICredentialTestRequest = {
    request: { baseURL: '={{$credentials.baseUrl.replace(new RegExp("/+$"), "")}}', url: "/me" },
  };
}
