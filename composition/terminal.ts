/** Output of a command. */
export interface Terminal {
  readonly out: (text: string) => void;
  readonly problem: (text: string) => void;
}
