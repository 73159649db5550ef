/** The first things to try, one a tab. */
export const GRAPHIQL_DOCUMENTS = [
  {
    query: `# 1. Submit a program. \`tools\` is its only way out; http.request waits for a person.
# Put your API key into the headers below.
mutation Submit($input: SubmitTaskInput!) {
  submitTask(input: $input) {
    id
    status
  }
}
`,
    variables: JSON.stringify(
      {
        input: {
          code: 'console.log("hello");\nreturn await tools.http.request({ method: "GET", url: "https://example.com/" });',
        },
      },
      null,
      2,
    ),
  },
  {
    query: `# 2. Watch it, with the id from the first tab: everything so far, then live.
subscription Watch($taskId: ID!) {
  taskEvents(taskId: $taskId) {
    seq
    at
    type
    data
  }
}
`,
    variables: JSON.stringify({ taskId: "" }, null, 2),
  },
  {
    query: `# 3. See what waits for a decision, then decide.
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
      }
    }
  }
}

# inputHash says what you saw: a call that has changed since is not approved.
mutation Approve($id: ID!, $inputHash: String!) {
  decideApproval(input: { id: $id, inputHash: $inputHash, decision: APPROVE }) {
    status
    decidedBy
    task {
      id
      status
    }
  }
}
`,
    variables: JSON.stringify({ id: "", inputHash: "" }, null, 2),
  },
];
