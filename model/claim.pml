/*
 * The claim-key-lookup protocol, as a model that Spin searches completely: one order, published twice, two workers
 * that die and stall, a gateway that forgets keys, a network that delays, doubles and loses.
 *
 *   npm run model           the protocol holds, and each broken variant is refuted
 *
 * Time is counted in ticks. Assumed, as in the configuration's preconditions: a request arrives within IN_FLIGHT of
 * the claim that it belongs to, or never; the gateway remembers a key for RETENTION from its first arrival; a key is
 * sent again for WINDOW after the first claim, and WINDOW + IN_FLIGHT < RETENTION.
 *
 * Properties (the runner knows them by these assertions):
 *   one charge      charges <= 1
 *   no false denial !(charges > 0 && status == denied)
 *   none lost       decided and announced, or given to a person, once nothing can happen any more
 *
 * Broken variants, chosen with -D: RANDOM_KEY, TIMEOUT_IS_DECLINE, NOT_FOUND_IS_NOT_CHARGED, EARLY_ACK, NO_MARGIN.
 */

#define WORKERS 2
#define CRASHES 1
#define SENDS 2          /* claims, after which the order is parked */
#define SLOTS 2          /* requests under way at once */
#define LEASE 1
#define WINDOW 1
#define IN_FLIGHT 1
#ifdef NO_MARGIN
#define RETENTION 2
#else
#define RETENTION 3
#endif
#define LAST_TICK 4
#define NEVER 255
#define NOBODY 255

mtype = { absent, received, authorizing, unknown, ready, denied, review };
mtype = { none, approved, declined };

/* The broker. */
byte queued = 2;
bool held[WORKERS];

/* The system of record. */
mtype status = absent;
byte claimedBy = NOBODY;
byte claimedAt;
byte claims;
byte keySince = NEVER;
byte key;                /* constant, but for the broken variants */

/* What the world saw. */
byte charges;
bool announced;
bool parked;

/* The gateway: what it did under each key, for good (its search), and since when it remembers the key. */
mtype verdict[SENDS + 2] = none;
byte firstSeen[SENDS + 2] = NEVER;

/* The network: requests with the time by which they have arrived, and each worker's answer. */
typedef Request { bool underWay; byte key; byte by; byte worker; byte claim };
Request request[SLOTS];
mtype answer[WORKERS] = none;
byte waitsFor[WORKERS];
byte sendBy[WORKERS] = NEVER;

byte now;
byte crashes;

#define isDecided (status == ready || status == denied)
#define leaseIsOver (claimedBy == NOBODY || now >= claimedAt + LEASE || now == LAST_TICK)
#define keyIsTooOld (keySince != NEVER && now > keySince + WINDOW)

/* Values that no longer mean anything are reset: fewer states to search. */
inline release() { claimedBy = NOBODY; claimedAt = 0 }
inline forget(n) {
  request[n].underWay = false; request[n].key = 0; request[n].by = 0; request[n].worker = 0; request[n].claim = 0
}

inline deny() { status = denied; assert(!(charges > 0 && status == denied)) }
inline approve() { status = ready }

/* A verdict from whoever heard it; the first one decides. */
inline record(what) {
  if
  :: isDecided -> skip
  :: !isDecided && what == approved -> approve()
  :: !isDecided && what == declined -> deny()
  fi;
  release()
}

/* The process dies here, or not: its messages go back to the queue, and its claim is free for others. */
#define MAY_DIE \
  if \
  :: crashes < CRASHES -> goto dead \
  :: true -> skip \
  fi

proctype Worker(byte me) {
  byte slot;
end:
  do
  :: atomic { queued > 0 -> queued--;
#ifndef EARLY_ACK
       held[me] = true
#endif
     }
#ifdef EARLY_ACK
     MAY_DIE;             /* otherwise the same as not having taken it */
#endif

     /* Claim: one commit. */
     atomic {
       if
       :: isDecided -> goto announce
       :: status == review -> parked = true; goto ack
       :: else
       fi;
       if
       :: !leaseIsOver -> goto replay
       :: leaseIsOver && claims == SENDS -> parked = true; goto ack
       :: leaseIsOver && claims < SENDS && keyIsTooOld ->
          status = review; release(); parked = true; goto ack
       :: leaseIsOver && claims < SENDS && !keyIsTooOld ->
          claims++;
#ifdef RANDOM_KEY
          key = claims;
#endif
          claimedBy = me; claimedAt = now; waitsFor[me] = claims; answer[me] = none;
          if :: keySince == NEVER -> keySince = now :: else fi;
          if :: status != unknown -> status = authorizing :: else fi;
          sendBy[me] = now + IN_FLIGHT
       fi
     }
     MAY_DIE;

     /* Send; a slot that is missing is a request that was never sent. */
     atomic {
       slot = 0;
       do
       :: slot < SLOTS && request[slot].underWay -> slot++
       :: slot < SLOTS && !request[slot].underWay ->
          request[slot].underWay = true;
          request[slot].key = key;
          request[slot].by = sendBy[me];
          request[slot].worker = me;
          request[slot].claim = waitsFor[me];
          break
       :: slot == SLOTS -> break
       od;
       sendBy[me] = NEVER; slot = 0
     }
     MAY_DIE;

     /* An answer, or the end of waiting for it, which may come as late as it likes. */
     atomic {
       if
       :: answer[me] != none -> record(answer[me]); answer[me] = none; waitsFor[me] = 0; goto announce
       :: true ->
#ifdef TIMEOUT_IS_DECLINE
          if :: !isDecided -> deny() :: else fi;
          answer[me] = none; waitsFor[me] = 0; goto announce
#else
          if
          :: status == authorizing && claimedBy == me -> status = unknown; release()
          :: else
          fi;
          goto replay
#endif
       fi
     }

announce:
     MAY_DIE;
     announced = true;
ack:
     MAY_DIE;
     atomic { held[me] = false };
     goto end;

replay:
     atomic {
       if :: held[me] -> held[me] = false; queued++ :: else fi;
       answer[me] = none; waitsFor[me] = 0
     };
     goto end;

dead:
     atomic {
       crashes++;
       if :: held[me] -> held[me] = false; queued++ :: else fi;
       if :: claimedBy == me -> release() :: else fi;
       sendBy[me] = NEVER; answer[me] = none; waitsFor[me] = 0
     }
  od
}

/* A request arrives, perhaps twice, or is lost; its answer arrives or is lost. */
proctype Gateway() {
  byte slot; byte k;
end:
  do
  :: atomic {
       request[0].underWay || request[1].underWay ->
       if :: request[0].underWay -> slot = 0 :: request[1].underWay -> slot = 1 fi;
       k = request[slot].key;
       if
       :: forget(slot); slot = 0; k = 0                                 /* lost */
       :: goto arrived
       fi
     };
     goto end;
arrived:
     atomic {
       if
       :: firstSeen[k] != NEVER && now < firstSeen[k] + RETENTION      /* remembered */
       :: else ->
          firstSeen[k] = now;
          if
          :: charges++; verdict[k] = approved;
             assert(charges <= 1);
             assert(!(charges > 0 && status == denied))
          :: verdict[k] != approved -> verdict[k] = declined
          fi
       fi;
       if
       :: waitsFor[request[slot].worker] == request[slot].claim -> answer[request[slot].worker] = verdict[k]
       :: true                                                          /* the answer is lost */
       fi;
       if
       :: forget(slot)
       :: true                                                          /* it will arrive again */
       fi;
       slot = 0; k = 0
     }
  od
}

/* Asks the gateway about what has no verdict; never charges. "Not found" may always be the answer: its search lags. */
proctype Resolver() {
end:
  do
  :: atomic {
       (status == unknown || status == review || (status == authorizing && leaseIsOver)) && verdict[key] != none ->
       record(verdict[key])
     }
  :: atomic {
       status == unknown || (status == authorizing && leaseIsOver) ->
#ifdef NOT_FOUND_IS_NOT_CHARGED
       status = received; keySince = NEVER; release(); key++
#else
       status = review; release()
#endif
     }
  :: atomic { isDecided && !announced && parked -> announced = true }
  :: atomic { isDecided && !announced && queued == 0 && !held[0] && !held[1] -> announced = true }
  od
}

/* Never past the time by which a request has arrived. */
proctype Clock() {
end:
  do
  :: atomic {
       now < LAST_TICK &&
       now < sendBy[0] && now < sendBy[1] &&
       (!request[0].underWay || now < request[0].by) && (!request[1].underWay || now < request[1].by) ->
       now++
     }
  od
}

/* When nothing can happen any more. */
proctype Judge() {
  timeout;
  assert(queued == 0 && !held[0] && !held[1]);
  assert((isDecided && announced) || parked);
}

init {
  atomic { run Worker(0); run Worker(1); run Gateway(); run Resolver(); run Clock(); run Judge() }
}
