"""
What ``node`` is given to run a handler with.
"""

from __future__ import annotations

# Handlers send their response by https and without a port, which S3 has; here it is
# the embedded AWS's own address, and that is plain http.
SCRIPT = r"""
const [handler, result] = process.argv.slice(1);
const fs = require('fs'), http = require('http'), https = require('https');
const path = require('path'), { pathToFileURL } = require('url');
const here = new URL(process.env.AWS_ENDPOINT_URL);
const secure = https.request;
https.request = (target, ...rest) => {
  const plain = typeof target === 'object' && !(target instanceof URL);
  const options = plain ? target : null;
  const host = options ? (options.hostname || options.host) : new URL(target).hostname;
  if (host !== here.hostname) return secure(target, ...rest);
  if (!options) return http.request(String(target).replace(/^https/, 'http'), ...rest);
  return http.request({ ...options, port: here.port, agent: undefined }, ...rest);
};
const dot = handler.lastIndexOf('.');
const stem = path.resolve(handler.slice(0, dot)), name = handler.slice(dot + 1);
const file = ['.js', '.mjs', '.cjs'].map((end) => stem + end).find(fs.existsSync);
const deadline = Date.now() + 1000 * Number(process.env.EMBEDDED_TIMEOUT);
const stream = process.env.AWS_LAMBDA_LOG_STREAM_NAME;
const context = {
  functionName: process.env.AWS_LAMBDA_FUNCTION_NAME,
  functionVersion: '$LATEST',
  invokedFunctionArn: process.env.EMBEDDED_FUNCTION_ARN,
  memoryLimitInMB: process.env.AWS_LAMBDA_FUNCTION_MEMORY_SIZE,
  logGroupName: process.env.AWS_LAMBDA_LOG_GROUP_NAME,
  logStreamName: stream,
  awsRequestId: stream,
  getRemainingTimeInMillis: () => Math.max(0, deadline - Date.now()),
};
const keep = (value) => fs.writeFileSync(result, JSON.stringify(value ?? null));
async function load() {
  const module = await import(pathToFileURL(file).href);
  return module[name] ?? module.default[name];
}
async function main() {
  let run;
  try {
    run = await load();
    if (typeof run !== 'function') throw new Error(`${handler} is not a function`);
  } catch (error) {
    console.log(error.message.split('\n')[0]);
    process.exit(86);
  }
  const event = JSON.parse(fs.readFileSync(0, 'utf8'));
  const done = (error, value) => {
    if (error) { console.log(error.message ?? error); process.exit(1); }
    keep(value);
  };
  context.done = done;
  context.succeed = (value) => done(null, value);
  context.fail = (error) => done(error ?? new Error('failed'));
  const value = run(event, context, done);
  if (value && typeof value.then === 'function') keep(await value);
}
main().catch((error) => { console.log(error.message ?? error); process.exit(1); });
"""

# What Lambda gives to inline code under this name.
RESPONSE_MODULE = r"""
exports.SUCCESS = 'SUCCESS';
exports.FAILED = 'FAILED';
exports.send = (event, context, status, data, id, noEcho) => {
  const body = JSON.stringify({
    Status: status,
    Reason: `See the details in CloudWatch Log Stream: ${context.logStreamName}`,
    PhysicalResourceId: id || context.logStreamName,
    StackId: event.StackId,
    RequestId: event.RequestId,
    LogicalResourceId: event.LogicalResourceId,
    NoEcho: noEcho || false,
    Data: data,
  });
  const headers = { 'content-length': Buffer.byteLength(body) };
  const options = { method: 'PUT', headers };
  require('http').request(event.ResponseURL, options).end(body);
};
"""
