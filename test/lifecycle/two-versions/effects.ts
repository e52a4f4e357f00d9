/** What the code of a version has done: which job, by which processor, with what. */
export interface Effect {
  readonly by: string;
  readonly job: string;
  readonly payload: unknown;
}

export type Did = (effect: Effect) => void;
