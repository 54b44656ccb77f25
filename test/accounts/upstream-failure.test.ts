/** What an upstream said when it refused. */
import { UpstreamFailure } from 'rx-admission';
import { describe, expect, it } from 'vitest';

describe('UpstreamFailure', () => {
  it('weighs one and asks for no wait unless it says so', () => {
    expect(new UpstreamFailure({ status: 500, service: 's', detail: 'd' })).toMatchObject({ weight: 1, retryAfter: 0 });
    expect(new UpstreamFailure({ status: 529, service: 's', detail: 'd', weight: 3, retryAfter: 2 })).toMatchObject({
      weight: 3,
      retryAfter: 2,
    });
  });

  it('bucket-15: its summary is status, service, detail and the seconds to wait, on one line', () => {
    const fields = { status: 429, service: 'test-service', detail: 'slow\n  down' };
    expect(new UpstreamFailure({ ...fields, retryAfter: 7 }).summary).toBe(
      'HTTP 429 from test-service: slow down, retry after 7s',
    );
    expect(new UpstreamFailure(fields).summary).toBe('HTTP 429 from test-service: slow down');
    expect(new UpstreamFailure({ ...fields, status: 0 }).summary).toBe('no response from test-service: slow down');
  });
});
