/** How the demo writes its figures. */

export function count(amount: number): string {
  return Math.round(amount).toLocaleString('en-US');
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

export function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}

export function bar(share: number, width: number): string {
  const full = Math.round(Math.min(1, Math.max(0, share)) * width);
  return '█'.repeat(full) + '░'.repeat(width - full);
}
