import { Duration } from 'aws-cdk-lib';
import type * as apigateway from 'aws-cdk-lib/aws-apigatewayv2';
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import type * as lambda from 'aws-cdk-lib/aws-lambda';

/** List prices of us-east-1 in dollars, free tiers aside. Other regions differ by some per cent. */
const GIBIBYTE_SECOND = { arm64: 0.0000133334, x86_64: 0.0000166667 };
const INVOCATION = 0.2 / 1_000_000;
const API_REQUEST = 1 / 1_000_000;

const HOUR = { period: Duration.hours(1), statistic: cloudwatch.Stats.SUM };

/** GiB-seconds an hour. Lambda bills starts too, which Duration leaves out: with a worker that is always there, seconds a day. */
export function gibibyteSeconds(functions: readonly lambda.Function[], label: string): cloudwatch.MathExpression {
  return expression(
    label,
    functions.map((fn) => [fn.metricDuration(HOUR), gibibytesOf(fn) / 1000]),
  );
}

/** Dollars an hour for functions to run. */
export function dollarsOf(functions: readonly lambda.Function[], label: string): cloudwatch.MathExpression {
  return expression(
    label,
    functions.flatMap((fn) => [
      [fn.metricDuration(HOUR), (gibibytesOf(fn) / 1000) * priceOf(fn)] as const,
      [fn.metricInvocations(HOUR), INVOCATION] as const,
    ]),
  );
}

/** Dollars an hour for requests. */
export function dollarsOfRequests(http: apigateway.HttpApi, label: string): cloudwatch.MathExpression {
  return expression(label, [[http.metricCount({ period: HOUR.period }), API_REQUEST]]);
}

/** The sum of metrics, each times a factor; what is missing counts as none. */
function expression(
  label: string,
  parts: readonly (readonly [cloudwatch.IMetric, number])[],
): cloudwatch.MathExpression {
  const prefix = label.toLowerCase().replace(/[^a-z0-9]/g, '');
  const named = parts.map(([metric, factor], at) => ({ name: `${prefix}${at}`, metric, factor }));
  return new cloudwatch.MathExpression({
    label,
    period: HOUR.period,
    expression: named.map(({ name, factor }) => `FILL(${name}, 0) * ${factor.toFixed(14)}`).join(' + '),
    usingMetrics: Object.fromEntries(named.map(({ name, metric }) => [name, metric])),
  });
}

function gibibytesOf(fn: lambda.Function): number {
  const { memorySize = 128 } = fn.node.defaultChild as lambda.CfnFunction;
  return memorySize / 1024;
}

function priceOf(fn: lambda.Function): number {
  return fn.architecture.name === 'x86_64' ? GIBIBYTE_SECOND.x86_64 : GIBIBYTE_SECOND.arm64;
}
