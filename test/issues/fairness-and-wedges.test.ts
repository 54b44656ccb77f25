/** Bug reports of peers about order: barging, starving, lines that stand still though there is room. */
import { CountingGate, ElasticWindow, TokenBucket, createAdmission, demand } from 'rx-admission';
import { EMPTY, NEVER, Subject, of } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { CountingScheduler } from '../admit/counting-scheduler.js';
import { Job } from '../admit/job.js';
import { scene } from '../admission/scene.js';

describe('order', () => {
  it('cockatiel (a newcomer between dequeue and microtask sends the admitted waiter back): there is no between', async () => {
    const { admission, slot, ask } = scene();
    const holder = ask('H');
    const order: string[] = [];
    const waiter = admission.acquire(demand(slot)).then((grant) => (order.push('waiter'), grant));
    holder.release();
    // The waiter has not run yet; but the slot is its own.
    const newcomer = new Job(admission, demand(slot), {}, () => (order.push('newcomer'), NEVER));
    expect([newcomer.state, admission.tryAcquire(demand(slot))]).toEqual(['waiting', null]);
    (await waiter).release();
    expect(order).toEqual(['waiter', 'newcomer']);
  });

  it('limiter#50 (grants out of order): in order of asking, whatever the amounts', () => {
    const { admission, clock } = scene();
    const tokens = new TokenBucket({ name: 'tokens', tokensPerMinute: 60_000, scheduler: clock });
    new Job(admission, demand([tokens, 60_000]));
    const order: number[] = [];
    [500, 10, 900, 20, 5].forEach((amount, n) => {
      new Job(admission, demand([tokens, amount]), {}, () => (order.push(n), EMPTY));
    });
    clock.advanceTo(2_000);
    expect(order).toEqual([0, 1, 2, 3, 4]);
  });

  it('effect (a large demand starves under small ones: 193 went, the big one never): it goes first', () => {
    const clock = new CountingScheduler();
    const admission = createAdmission({ scheduler: clock });
    const slot = new CountingGate({ name: 'slot', capacity: 2, scheduler: clock });
    let smalls = 0;
    const running: Job[] = [new Job(admission, demand(slot)), new Job(admission, demand(slot))];
    const big = new Job(admission, demand([slot, 2]));
    // A stream of small ones: as one ends, another asks.
    for (let n = 0; n < 200 && big.state === 'waiting'; n += 1) {
      const ends = running.shift();
      const asks = new Job(admission, demand(slot));
      if (asks.state === 'granted') smalls += 1;
      running.push(asks);
      if (ends?.state === 'granted') ends.release();
    }
    expect([big.state, smalls]).toEqual(['granted', 0]);
  });

  it('async-mutex PR #75 (small ones starve large ones): protected as the head', () => {
    const { slot, ask } = scene(3);
    const holders = [ask('a'), ask('b'), ask('c')];
    const large = ask('LARGE', 3);
    const smalls = [ask('d'), ask('e')];
    for (const holder of holders.slice(0, 2)) holder.release();
    expect([large.state, smalls.map(({ state }) => state), slot.inUse()]).toEqual(['waiting', ['waiting', 'waiting'], 1]);
    holders[2]?.release();
    expect(large.state).toBe('granted');
  });

  it('golang/go#56910 (a head holds back what it does not need): whoever asks for nothing of the head passes', () => {
    const { admission, ask, gate } = scene();
    ask('H');
    ask('HEAD');
    expect(new Job(admission, demand(gate('other', 1))).state).toBe('granted');
  });
});

describe('lines that stand still', () => {
  it('bottleneck#152, #134, #194, #199, OmniRoute#8616, #9041 (queued, nothing runs, capacity free): free means granted', () => {
    // Every way in which capacity can come: after each of them, a head that fits has gone.
    const ways: Record<string, (world: ReturnType<typeof scene> & { holder: Job }) => void> = {
      release: ({ holder }) => holder.release(),
      rollback: ({ holder }) => holder.grant.rollback(),
      unsubscribe: ({ holder }) => holder.unsubscribe(),
      resize: ({ slot }) => slot.resize(2),
      'pause and resume': ({ slot, holder }) => {
        slot.pause();
        holder.release();
        slot.resume();
      },
      'a release inside a delivery': ({ admission, holder }) => {
        admission.defer(demand(), () => (holder.release(), EMPTY)).subscribe();
      },
      'a release inside an event handler': ({ admission, holder, gate }) => {
        admission.events$.subscribe(({ account }) => {
          if (account === 'other') holder.release();
        });
        new Job(admission, demand(gate('other', 1)));
      },
      'a resize inside an event handler': ({ admission, slot, gate }) => {
        admission.events$.subscribe(({ account }) => {
          if (account === 'other') slot.resize(2);
        });
        new Job(admission, demand(gate('other', 1)));
      },
    };
    for (const [way, make] of Object.entries(ways)) {
      const world = scene();
      const holder = world.ask('H');
      const waiter = world.ask('W');
      expect(waiter.state).toBe('waiting');
      make({ ...world, holder });
      expect([way, waiter.state]).toEqual([way, 'granted']);
    }
  });

  it('bottleneck updateSettings (kills the refresh of the reservoir), resilience4j#2489: a resize never stops the refill', () => {
    const { admission, clock } = scene();
    const tokens = new TokenBucket({ name: 'tokens', tokensPerMinute: 60_000, scheduler: clock });
    new Job(admission, demand([tokens, 60_000]));
    const waiter = new Job(admission, demand([tokens, 1_000]));
    clock.advanceTo(500);
    tokens.setConfig({ tokensPerMinute: 30_000 });
    clock.advanceTo(1_499);
    expect(waiter.state).toBe('waiting');
    // 500 of the first half second, and half a token a millisecond since.
    clock.advanceTo(1_500);
    expect(waiter.state).toBe('granted');
  });

  it('opossum#119, #385, #484, cockatiel#91 (stuck half-open, or half-open lets the flood in): one probe, and its loss frees the next', () => {
    const { admission, clock } = scene();
    const window = new ElasticWindow({
      name: 'window',
      maxRequests: 50,
      baseWindow: 10,
      initialCooldown: 100,
      maxCooldown: 1_000,
      probeTimeout: 500,
      scheduler: clock,
      log: { warn: () => undefined, info: () => undefined },
    });
    for (let n = 0; n < 12; n += 1) window.recordPressure();
    clock.advanceTo(100);
    const flood = Array.from({ length: 20 }, () => new Job(admission, demand(window)));
    expect(flood.filter(({ state }) => state === 'granted')).toHaveLength(1);
    expect(flood.filter(({ state }) => state === 'refused')).toHaveLength(19);
    // The probe is lost: nobody ever says how it went.
    flood[0]?.unsubscribe();
    clock.advanceTo(600);
    expect(new Job(admission, demand(window)).state).toBe('granted');
  });

  it('p-limit PR #106, fastq#80, #81 (something starts after pause, or overshoots after a resize): never', () => {
    const { slot, ask } = scene(2);
    const jobs = [ask('a'), ask('b'), ask('c'), ask('d')];
    slot.pause();
    jobs[0]?.release();
    jobs[1]?.release();
    expect([slot.inUse(), jobs[2]?.state]).toEqual([0, 'waiting']);
    slot.resize(1);
    slot.resume();
    expect([slot.inUse(), jobs.map(({ state }) => state)]).toEqual([1, ['granted', 'granted', 'granted', 'waiting']]);
  });

  it('fastq#90 (paused means drained never comes), #97 (kill leaves promises pending): drain ends, parked ones hear', async () => {
    const { admission, slot } = scene();
    slot.pause();
    const parked = admission.acquire(demand(slot));
    const drain = admission.drain();
    await expect(parked).rejects.toMatchObject({ reason: 'shutdown' });
    await expect(drain).resolves.toMatchObject({ drained: true, refused: 1 });
  });

  it('rxjs#6036, dotnet/reactive#48 (dynamic concurrency): the gate is resized while a stream runs', () => {
    const { admission, slot } = scene(1);
    const source = new Subject<string>();
    const ends: Subject<string>[] = [];
    source
      .pipe(
        admission.admit(demand(slot), () => {
          const end = new Subject<string>();
          ends.push(end);
          return end;
        }),
      )
      .subscribe();
    for (const item of ['a', 'b', 'c', 'd']) source.next(item);
    expect(ends).toHaveLength(1);
    slot.resize(3);
    expect(ends).toHaveLength(3);
    slot.resize(1);
    ends[0]?.complete();
    ends[1]?.complete();
    expect(ends).toHaveLength(3);
    ends[2]?.complete();
    expect(ends).toHaveLength(4);
  });

  it('@tanstack/pacer#200 (falsy items are dropped), PR #246 (a task error kills the chain): neither', () => {
    const { admission, slot } = scene();
    const seen: unknown[] = [];
    of(0, '', null, undefined, false, Number.NaN)
      .pipe(admission.admit(demand(slot), (item) => of(item)))
      .subscribe((item) => seen.push(item));
    expect(seen).toEqual([0, '', null, undefined, false, Number.NaN]);
    new Job(admission, demand(slot), {}, () => {
      throw new Error('boom');
    });
    expect(new Job(admission, demand(slot)).state).toBe('granted');
  });
});
