/** git's rule for names of refs, and no leading dash: it would read as an option. */
// oxlint-disable-next-line no-control-regex -- these are what is refused
const BAD_REF = /^-|^\/|\/$|\/\/|\.\.|@\{|\.lock$|\.$|[\0-\x20\x7f~^:?*[\\]/;

/** A commit by its full name. */
export const COMMIT = /^[0-9a-f]{40}$/;

/** What is wrong with the URL of a repository, or null. */
export function repositoryUrlFault(text: string): string | null {
  if (!URL.canParse(text)) return "is no URL; give one like https://git.example/team/project.git";
  const url = new URL(text);
  if (url.protocol !== "https:" && url.protocol !== "http:")
    return "is not an https URL; ssh and others are not cloned";
  if (url.username !== "" || url.password !== "") {
    return "has a user name in it; name a credential of the workers instead";
  }
  if (url.href !== text || url.hash !== "" || url.search !== "") return `is not written plainly; write ${url.origin}/…`;
  return null;
}

/** What is wrong with a branch, tag or commit, or null. */
export function refFault(ref: string): string | null {
  return BAD_REF.test(ref) ? "is no name of a branch or tag, and no commit" : null;
}
