/** The first things to try, one a tab, in this order. They need no variables: whoever looks for the first time clicks. */
export const GRAPHIQL_DOCUMENTS = [
  {
    query: `# 1. Submit a program. Its only way out is
#    \`tools\`, and http.request waits for a person.
mutation Submit {
  submitTask(
    input: {
      code: """
      console.log("hello");
      const answer = await tools.http.request({
        method: "GET",
        url: "https://example.com/",
      });
      return answer.status;
      """
    }
  ) {
    id
    status
  }
}
`,
  },
  {
    query: `# 2. Watch the newest task, then each change.
#    taskEvents(taskId: "…") tells every event.
subscription Watch {
  taskUpdates(latest: 1) {
    id
    status
    output
    error {
      code
      message
    }
    events {
      seq
      type
      data
    }
  }
}
`,
  },
  {
    query: `# 3. See what waits for a person. approvalUpdates,
#    a subscription, tells it as it happens.
query Pending {
  approvals(status: PENDING) {
    edges {
      node {
        id
        inputHash
        toolCall {
          path
          input
        }
        task {
          id
        }
      }
    }
  }
}
`,
  },
  {
    query: `# 4. Approve every http.request that waits, then
#    go back to 2. decideApproval takes one: what
#    its inputHash says you saw, and nothing else.
mutation Approve {
  decideApprovals(
    filter: { toolPath: "http.request" }
    decision: APPROVE
  ) {
    errorCode
    approval {
      id
      status
      decidedBy
      task {
        id
        status
      }
    }
  }
}
`,
  },
];
