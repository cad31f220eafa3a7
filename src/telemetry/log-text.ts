/** A JSON log line as one line for people, with an error's frames below it. */
export function logText(jsonLine: string): string {
  const { time, level, msg, pid, ...fields } = JSON.parse(jsonLine) as Record<string, unknown>;
  const head = `${shown(time)} ${shown(level).toUpperCase().padEnd(5)} ${oneLine(shown(msg))}`;
  const pairs = Object.entries(fields).map(([name, value]) => ` ${name}=${fieldText(value)}`);
  const process = pid === undefined ? '' : ` pid=${shown(pid)}`;
  return `${head}${pairs.join('')}${process}\n${framesOf(fields)}`;
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? '');
}

/** A line stays one line, and moves no cursor: control characters are shown as JSON would. */
function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]/gu, (control) => {
    return `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

function fieldText(value: unknown): string {
  if (isError(value)) {
    const cause: string = isError(value.cause) ? ` <- ${fieldText(value.cause)}` : '';
    const code = value.code === undefined ? '' : ` (${shown(value.code)})`;
    return `${oneLine(JSON.stringify(`${shown(value.type)}: ${shown(value.message)}${code}`))}${cause}`;
  }
  return typeof value === 'string' && /^[\w.:/@*-]+$/.test(value) ? value : oneLine(JSON.stringify(value));
}

function framesOf(fields: Readonly<Record<string, unknown>>): string {
  return Object.values(fields)
    .flatMap((value) => (isError(value) && Array.isArray(value.stack) ? (value.stack as unknown[]) : []))
    .map((frame) => `    ${oneLine(shown(frame))}\n`)
    .join('');
}

function isError(value: unknown): value is Record<'type' | 'message' | 'code' | 'stack' | 'cause', unknown> {
  return typeof value === 'object' && value !== null && 'type' in value && 'message' in value;
}
