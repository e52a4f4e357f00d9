import type { Cases } from './case.ts';
import { enqueueCases } from './enqueue.ts';
import { observeCases } from './observe.ts';
import { operateCases } from './operate.ts';
import { readCases } from './read.ts';

export const CASES: Cases = { ...enqueueCases, ...readCases, ...operateCases, ...observeCases };
