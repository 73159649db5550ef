/**
 * What stands before GraphiQL in its page. It asks for an API key once, tries it, and sends it along with every request of
 * GraphiQL, whichever tab it comes from. Requests made earlier wait for it. The key stays in this browser tab.
 */
export const KEY_PROMPT = /* HTML */ `
  <style>
    /* GraphiQL's tabs can be dragged, and jump away under the first click after the page has changed its size. */
    .graphiql-tab {
      transform: none !important;
    }
    #airlock-key {
      box-sizing: border-box;
      width: min(30rem, 92vw);
      padding: 1.75rem 2rem 2rem;
      border: 0;
      border-radius: 12px;
      background: #fff;
      color: #1e293b;
      font:
        15px/1.5 system-ui,
        sans-serif;
      box-shadow: 0 20px 50px rgb(0 0 0 / 30%);
    }
    #airlock-key::backdrop {
      background: rgb(15 23 42 / 55%);
    }
    #airlock-key h1 {
      margin: 0 0 0.25rem;
      font-size: 1.35rem;
    }
    #airlock-key p {
      margin: 0 0 1rem;
      color: #475569;
    }
    #airlock-key p[role="alert"] {
      min-height: 1.5em;
      margin: 0.5rem 0;
      color: #b91c1c;
    }
    #airlock-key code,
    #airlock-key input {
      font-family: ui-monospace, monospace;
      font-size: 14px;
    }
    #airlock-key label {
      display: block;
      font-weight: 600;
    }
    #airlock-key input {
      box-sizing: border-box;
      width: 100%;
      margin-top: 0.35rem;
      padding: 0.6rem 0.7rem;
      border: 1px solid #94a3b8;
      border-radius: 6px;
      background: #fff;
      color: inherit;
    }
    #airlock-key button {
      padding: 0.55rem 1.4rem;
      border: 0;
      border-radius: 6px;
      background: #1d4ed8;
      color: #fff;
      font: inherit;
      font-weight: 600;
      cursor: pointer;
    }
  </style>
  <dialog id="airlock-key">
    <form>
      <h1>Airlock</h1>
      <p>
        The API needs a key. <code>npm start</code> prints one and keeps it in <code>.airlock/admin-key</code>. It is
        forgotten when you close this tab.
      </p>
      <label>API key <input type="password" name="key" autocomplete="off" spellcheck="false" required /></label>
      <p role="alert"></p>
      <button>Open</button>
    </form>
  </dialog>
  <script>
    // GraphiQL keeps its tabs, and at each start adds one more unless it is told which of them it is to begin with.
    (() => {
      const reloaded = performance.getEntriesByType("navigation")[0]?.type === "reload";
      if (location.search !== "" && !reloaded) return;
      history.replaceState({}, "", location.pathname);
      const { tabs, activeTabIndex } = JSON.parse(localStorage.getItem("graphiql:tabState") ?? '{ "tabs": [] }');
      for (const part of ["query", "variables"]) {
        localStorage.setItem("graphiql:" + part, tabs[activeTabIndex]?.[part] ?? "");
      }
    })();
    (() => {
      const plainFetch = window.fetch.bind(window);
      const dialog = document.getElementById("airlock-key");
      const form = dialog.querySelector("form");
      const fault = dialog.querySelector("[role=alert]");
      const send = (key, body) =>
        plainFetch("/graphql", {
          method: "POST",
          headers: { "content-type": "application/json", authorization: "Bearer " + key },
          body: JSON.stringify(body),
        });
      const accepted = new Promise((accept) => {
        async function attempt(key) {
          // A header takes no other characters, and neither do keys.
          const known = /^[!-~]+$/.test(key) && (await send(key, { query: "{ __typename }" })).status !== 401;
          if (!known) throw new Error("This key is unknown or revoked.");
          sessionStorage.setItem("airlock-key", key);
          dialog.close();
          accept(key);
        }
        function ask(message) {
          if (!dialog.open) dialog.showModal();
          fault.textContent = message;
          form.elements.key.select();
        }
        const tell = (error) =>
          ask(error instanceof TypeError ? "The gateway does not answer. Is it running?" : error.message);
        // Escape would leave a page that can do nothing.
        dialog.addEventListener("cancel", (event) => event.preventDefault());
        form.addEventListener("submit", (event) => {
          event.preventDefault();
          attempt(form.elements.key.value.trim()).catch(tell);
        });
        const kept = sessionStorage.getItem("airlock-key");
        if (kept === null) ask("");
        else attempt(kept).catch(tell);
      });
      window.fetch = async (input, init = {}) => {
        const headers = new Headers(init.headers ?? (input instanceof Request ? input.headers : undefined));
        // Whoever writes a header of their own means it.
        if (!headers.has("authorization")) headers.set("authorization", "Bearer " + (await accepted));
        return plainFetch(input, { ...init, headers });
      };
    })();
  </script>
`;
