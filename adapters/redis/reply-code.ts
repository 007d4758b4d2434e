/** How Redis before 7.0 reports the error of a command in a script: prefixed by the position in the script. */
const IN_A_SCRIPT = /^ERR Error running script \(call to \w+\): (?:@user_script: ?\d+: )+-?/;

/** The code an error reply begins with, such as `OOM` or `READONLY`, from a script too; '' when it has none. */
export const replyCode = (message: string): string => /^[A-Z]+\b/.exec(message.replace(IN_A_SCRIPT, ''))?.[0] ?? '';
