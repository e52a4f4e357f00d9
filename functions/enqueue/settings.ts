import { enqueueEnv, readEnv } from '../lambda/env.ts';
import { once } from '../lambda/once.ts';

export const settings = once(() => readEnv(enqueueEnv));
