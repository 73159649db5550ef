import { createHash } from "node:crypto";
import type Docker from "dockerode";
import { statusOf } from "./engine.ts";

/** An image as the engine has it now. Nothing is ever pulled. */
export interface Image {
  readonly id: string;
  /** Its content: the same on every engine that has it, while an id of its own may come of each import. */
  readonly pin: string;
}

/** Which image a name stands for, and which one has a content that a name stood for once. */
export class Images {
  readonly #docker: Docker;
  /** Content → id. */
  readonly #known = new Map<string, string>();

  constructor(docker: Docker) {
    this.#docker = docker;
  }

  /** Null: the engine has none. */
  async find(name: string, pin: string | null): Promise<Image | null> {
    if (pin === null) return this.#look(name);
    const likely = [this.#known.get(pin), name].filter((each) => each !== undefined);
    return (await this.#firstWith(pin, likely)) ?? this.#firstWith(pin, await this.#all());
  }

  async #firstWith(pin: string, candidates: readonly string[]): Promise<Image | null> {
    for (const candidate of candidates) {
      const image = await this.#look(candidate);
      if (image?.pin === pin) return image;
    }
    return null;
  }

  /** Those that lost their name, too. */
  async #all(): Promise<string[]> {
    return (await this.#docker.listImages()).map(({ Id }) => Id);
  }

  async #look(name: string): Promise<Image | null> {
    try {
      const { Id: id, RootFS, Config, Architecture } = await this.#docker.getImage(name).inspect();
      const content = JSON.stringify([RootFS.Layers, Config.Env, Architecture]);
      const pin = `sha256:${createHash("sha256").update(content).digest("hex")}`;
      this.#known.set(pin, id);
      return { id, pin };
    } catch (error) {
      if (statusOf(error) === 404) return null;
      throw error;
    }
  }
}
