import { statsOf } from '../../metrics-text.ts';
import type { Check } from '../check.ts';
import { failed, NotKnownError, ok } from '../finding.ts';

/** Whether Prometheus would understand the metrics: https://prometheus.io/docs/instrumenting/exposition_formats/ */
const LINE = /^(?:# .*|[a-zA-Z_:][\w:]*(?:\{(?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*",?)*\})? \S+)$/;

export const metrics: Check = {
  id: 'metrics',
  examine: async (deployment) => {
    const { status, text, body } = await (await deployment.answering()).send('GET', '/metrics');
    if (status === 401 || status === 403) throw new NotKnownError('takes a token of the role reader or operator');
    const lines = text.split('\n').filter((line) => line !== '');
    const isText = lines.length > 0 && lines.every((line) => LINE.test(line));
    const kinds = statsOf(text).kinds.length;
    if (status === 200 && isText) return ok(`GET /metrics tells of ${kinds === 1 ? '1 kind' : `${kinds} kinds`}`);
    const said = status === 200 ? 'answers what is no Prometheus text' : `answers ${status} ${body.title ?? ''}`;
    const remedy = 'Look into the log of the function Metrics.';
    return failed(`GET /metrics ${said}`.trim(), { remedy, see: 'docs/runbook.md#api-errors' });
  },
};
