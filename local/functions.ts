import { join } from 'node:path';
import * as z from 'zod';
import { type LocalVariables, sandboxEnvironment } from './environment.ts';
import type { LocalFunction } from './function.ts';
import { knownIn, lambdaName } from './lambda-names.ts';
import { secretNames } from './secrets.ts';
import { StartError } from './start-error.ts';
import { idsIn, nameOf, ofType, pathOf, pointedTo, type Resource, type Stack, textOf } from './template.ts';

/** The function that a value of a template points to; undefined if to none. */
export type FunctionOf = (value: unknown) => LocalFunction | undefined;

const FunctionProperties = z.looseObject({
  Handler: z.string(),
  Timeout: z.number().default(3),
  MemorySize: z.number().default(128),
});
/** Of every function: also of one that does not run here, as an image. */
const Environment = z.looseObject({ Variables: z.record(z.string(), z.unknown()).default({}) });

/** The functions of the synthesized templates, each read once, when something that runs here first points to it. */
export class Functions {
  readonly #own: LocalVariables;
  readonly #shell: NodeJS.ProcessEnv;
  readonly #below: string;
  readonly #read = new Map<Resource, LocalFunction>();

  /**
   * `own`: what every function is told beyond the template. `shell`: where it finds what the template leaves to that.
   * `queue`: path of the construct whose functions these are; those of others count as not there. Undefined: all.
   */
  constructor(own: LocalVariables, shell: NodeJS.ProcessEnv, queue?: string) {
    this.#own = own;
    this.#shell = shell;
    this.#below = queue === undefined ? '' : `${queue}/`;
  }

  of(stack: Stack): FunctionOf {
    return (value) => {
      const [id, resource] = pointedTo(stack, value, 'AWS::Lambda::Function') ?? [];
      if (id === undefined || resource === undefined || !pathOf(resource).startsWith(this.#below)) return undefined;
      const fn = this.#read.get(resource) ?? this.#function(stack, id, resource);
      this.#read.set(resource, fn);
      return fn;
    };
  }

  /** Those of a stack that others start, by the names that Lambda has for them. */
  woken(stack: Stack): [name: string, fn: LocalFunction][] {
    return ofType(stack, 'AWS::Lambda::Function')
      .flatMap(([, resource]) => idsIn(variablesOf(resource).WAKE_FUNCTIONS))
      .flatMap((id) => {
        const fn = this.of(stack)({ Ref: id });
        return fn === undefined ? [] : [[lambdaName(stack, id), fn]];
      });
  }

  /** Sentences about what those that were read ask for and do not get. */
  notes(): string[] {
    const names = new Set([...this.#read.keys()].flatMap((resource) => secretNames(variablesOf(resource))));
    const missing = [...names].filter((name) => !this.#shell[name]);
    if (missing.length === 0) return [];
    return [
      `Secrets are not read here: processors and contracts find no ${missing.join(', ')}, unless you set it in the shell that starts this.`,
    ];
  }

  #function(stack: Stack, id: string, resource: Resource): LocalFunction {
    const { Handler: handler, Timeout: timeoutSeconds, MemorySize } = FunctionProperties.parse(resource.Properties);
    const asset = resource.Metadata['aws:asset:path'];
    const name = nameOf(id, resource);
    if (typeof asset !== 'string') {
      throw new StartError(
        'template_unusable',
        `The function ${name} has no code from this repository (no aws:asset:path in the template): it cannot run here.`,
      );
    }
    const fn = { name, directory: join(stack.directory, asset), memoryMegabytes: MemorySize };
    const known = knownIn(stack);
    const variables = Object.fromEntries(
      Object.entries(variablesOf(resource)).map(([variable, value]) => [variable, textOf(value, known) ?? value]),
    );
    return {
      ...fn,
      handler,
      timeoutSeconds,
      // The name by which others start it, since by it they look whether it is there.
      environment: sandboxEnvironment({ ...fn, name: lambdaName(stack, id), variables }, this.#own, this.#shell),
    };
  }
}

function variablesOf({ Properties }: Resource): Readonly<Record<string, unknown>> {
  return Environment.parse(Properties.Environment ?? {}).Variables;
}
