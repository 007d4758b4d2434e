/** What a command prints to. */
export interface Terminal {
  readonly out: (text: string) => void;
  readonly problem: (text: string) => void;
}
