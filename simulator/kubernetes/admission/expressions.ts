import { Environment, type ParseResult } from '@marcbachmann/cel-js';
import { withFunctions } from '../schema/cel.ts';

/** What `request` holds. `options` and `userInfo.extra` of a real server are not told here: an expression that names them does not compile. */
const REQUEST = {
  uid: 'string',
  kind: { group: 'string', version: 'string', kind: 'string' },
  resource: { group: 'string', version: 'string', resource: 'string' },
  subResource: 'string',
  requestKind: { group: 'string', version: 'string', kind: 'string' },
  requestResource: { group: 'string', version: 'string', resource: 'string' },
  requestSubResource: 'string',
  name: 'string',
  namespace: 'string',
  operation: 'string',
  userInfo: { username: 'string', uid: 'string', groups: 'list<string>' },
  dryRun: 'bool',
};

/** The expressions of one policy: each may name the object, the old one, the request, and the variables that were declared before. */
export class Expressions {
  readonly #variables: Record<string, string> = {};
  #environment = this.#withVariables();

  /** Declares `variables.<name>`. Answers why it cannot be, or what computes it. */
  declare(name: string, expression: string): string | ParseResult {
    const program = this.compile(expression);
    if (typeof program === 'string') return program;
    this.#variables[name] = String(program.check().type ?? 'dyn');
    this.#environment = this.#withVariables();
    return program;
  }

  /** Why the expression cannot be evaluated to the wanted type, or what evaluates it. */
  compile(expression: string, wanted?: 'bool' | 'string'): string | ParseResult {
    try {
      const program = this.#environment.parse(expression);
      const { valid, type, error } = program.check();
      if (!valid) return firstLine(error);
      return wanted === undefined || type === wanted || type === 'dyn' ? program : `must evaluate to ${wanted}`;
    } catch (error) {
      return firstLine(error);
    }
  }

  #withVariables(): Environment {
    const environment = new Environment({ unlistedVariablesAreDyn: false, enableOptionalTypes: true, homogeneousAggregateLiterals: false });
    withFunctions(environment)
      .registerVariable('object', 'dyn')
      .registerVariable('oldObject', 'dyn')
      .registerVariable({ name: 'request', schema: REQUEST })
      .registerVariable({ name: 'variables', schema: { ...this.#variables } });
    return environment;
  }
}

export const firstLine = (error: unknown): string => (error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error));
