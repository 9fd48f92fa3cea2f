/*
 * The submit protocol: how a filing is sent to a service without an idempotency key, never twice and never lost.
 * docs/protocol.md tells it in words; `npm run model` checks it. One atomic block is one arrow of the protocol: a
 * transaction of the ledger, one file operation, one write to the network, or one step of a workflow's history.
 *
 * A crash is an actor that takes no further step, a freeze one that takes it late: both come with interleaving.
 * A transaction that is frozen with its locks held is one that happens at its commit; one that aborts does not happen;
 * one whose commit is not acknowledged happens, and its actor goes on as if it had not.
 */

#include "state.pml"
#ifdef STEPS
#include "steps.pml"
#endif
#include "guards.pml"
#include "ledger.pml"

/* A run can be split into one for each kind of step that is repeated: together they visit what the whole would. */
#ifdef REPEAT_ONLY
#define REPEATABLE(kind) (kind == REPEAT_ONLY)
#else
#define REPEATABLE(kind) true
#endif

inline remember(kind, arg) {
#if REPEATS > 0
  if
  :: repeat == G_NONE && REPEATABLE(kind) -> repeat = kind; repeatArg = arg; printf("@ repeat | the next step is under way twice\n")
  :: true
  fi
#else
  skip
#endif
}

/* A poll finds no request of the submission, and the run has followed one. */
#define REQUESTS_LOST(f) (NONE_NAMED(f) && !ONE_ACCEPTED(f) && !ONE_REJECTED(f))
#define IS_ANSWERED(e) (net[e] == N_TAKEN || net[e] == N_TAKEN_BAD || net[e] >= N_CERTIFIED)
#define PROVES(n, a) (SEND_OF(n, a) && IS_ANSWERED(sends[n] - 1))

#define SENT_STATE(a) (att[a] == A_MARKED || att[a] == A_ACCEPTED)
#define MAY_BE_SENT(f) (SENT_STATE(FIRST(f)) || SENT_STATE(FIRST(f) + 1))

inline rememberAnswer(a, s) {
#if REPEATS > 0
  if
  :: repeat == G_NONE && REPEATABLE(G_NOT_FILED) -> repeat = G_NOT_FILED; repeatArg = a; repeatMark = s; printf("@ repeat | the next step is under way twice\n")
  :: true
  fi
#else
  skip
#endif
}

proctype Run(byte f) {
  byte s;
end:
  do
  :: atomic { rp[f] == W_OPEN_FILING ->
       keepCopy();
       if
#ifdef NO_UNIQUE_INDEX
       :: fst[f] == F_NONE -> fst[f] = F_CHECKING; row[f] = R_PLANNED; rp[f] = W_OPEN_ATTEMPT; ra[f] = LATEST(f)
#else
       :: fst[f] == F_NONE && MAY_STAND(f) ->
#if PERMITTED > 0
          beside = LIVE(1 - f);
#endif
          fst[f] = F_CHECKING; row[f] = R_PLANNED; rp[f] = W_OPEN_ATTEMPT; ra[f] = LATEST(f)
       :: fst[f] == F_NONE && !MAY_STAND(f) -> rp[f] = W_CLOSED
#endif
       :: fst[f] != F_NONE && !ENDED(f) -> rp[f] = W_OPEN_ATTEMPT; ra[f] = LATEST(f)
       :: ENDED(f) -> rp[f] = W_CLOSED
       fi;
       printf("@ run %d | open filing: fst=%d, rows row=%d\n", f, fst[f], row[f]); SHOW }
  :: atomic { rp[f] == W_OPEN_ATTEMPT && !WAITS_FOR_CERTIFICATES(f) ->
       keepCopy();
       openAttempt(f);
       ra[f] = (att[LATEST(f)] != A_ACCEPTED && att[FIRST(f)] == A_ACCEPTED || !(UNDER_WAY(LATEST(f))) && UNDER_WAY(FIRST(f)) -> FIRST(f) : LATEST(f));
       remember(G_OPEN_ATTEMPT, f);
       if
       :: ENDED(f) -> rp[f] = W_CLOSED
       :: fst[f] == F_NONE -> rp[f] = W_OPEN_FILING
       :: !ENDED(f) && fst[f] != F_NONE && att[ra[f]] == A_OPEN -> rp[f] = W_DISPATCH
       :: !ENDED(f) && fst[f] != F_NONE && att[ra[f]] != A_OPEN -> rp[f] = W_READ_ATTEMPT
       fi;
       printf("@ run %d | open the next attempt of filing %d: attempt %d is att=%d\n", f, f, ra[f], att[ra[f]]); SHOW }
  :: atomic { rp[f] == W_DISPATCH && ex[NE - 1] == X_FREE ->
       i = 0; do :: ex[i] != X_FREE -> i++ :: else -> break od;
       ex[i] = X_CONNECTED; xa[i] = ra[f]; re[f] = i + 1; rp[f] = W_SUBMITTING;
       printf("@ run %d | schedule submit of attempt %d as execution %d\n", f, ra[f], i); i = 0; SHOW }
  :: atomic { rp[f] == W_SUBMITTING && ex[re[f] - 1] == X_DONE_ANSWER && net[re[f] - 1] != N_REFUSED && fst[f] != F_NONE ->
       /* the answer came back as the activity's result too */
       keepCopy(); handIn(ra[f], re[f]);
       rp[f] = (FOLLOWED(ra[f]) || ENDED(f) -> W_FOLLOW : W_READ_ATTEMPT); re[f] = 0;
       printf("@ run %d | submit returned an acceptance of attempt %d\n", f, ra[f]); SHOW }
  :: atomic { rp[f] == W_SUBMITTING && ex[re[f] - 1] == X_DONE_ANSWER && net[re[f] - 1] == N_REFUSED && WHOLE ->
       keepCopy();
       if
       :: att[ra[f]] == A_OPEN || att[ra[f]] == A_MARKED && RUN_MAY_REFUSE(re[f] - 1) -> att[ra[f]] = A_REFUSED; unsubmit(f); notSentAfterAll(ra[f])
       :: else
       fi;
       ex[re[f] - 1] = X_DONE; net[re[f] - 1] = N_LOST; rp[f] = W_READ_ATTEMPT; re[f] = 0;
       printf("@ run %d | submit returned a refusal of attempt %d: att=%d\n", f, ra[f], att[ra[f]]); SHOW }
  :: atomic { rp[f] == W_SUBMITTING PATIENCE ->   /* returned without an acceptance, timed out or lost its heartbeat */
       if :: ex[re[f] - 1] == X_DONE_ANSWER -> ex[re[f] - 1] = X_DONE; net[re[f] - 1] = (net[re[f] - 1] == N_REFUSED -> N_LOST : net[re[f] - 1]) :: else fi;
       rp[f] = W_READ_ATTEMPT; re[f] = 0;
       printf("@ run %d | submit is over or given up on\n", f); SHOW }
#ifndef NO_VOID
  :: atomic { rp[f] == W_READ_ATTEMPT && WHOLE && TO_VOID(f, ra[f]) ->
       i = 1; do :: !(VOIDABLE(i, ra[f])) -> i++ :: else -> break od; file[i] = VOID;
       printf("@ run %d | void file %d for attempt %d\n", f, i, ra[f]); i = 0; SHOW }
#endif
  :: atomic { rp[f] == W_READ_ATTEMPT && WHOLE && !(TO_VOID(f, ra[f])) ->
       keepCopy();
       readAttempt(ra[f]);
       remember(G_READ_ATTEMPT, ra[f]);
       printf("@ run %d | read attempt %d: att=%d, filing fst=%d, rows row=%d\n", f, ra[f], att[ra[f]], fst[f], row[f]);
       if
       :: ENDED(f) -> rp[f] = W_CLOSED
       :: fst[f] == F_NONE -> rp[f] = W_OPEN_FILING
       :: else ->
          if
          /* of two requests, one that has not ended */
          :: FOLLOWED(FIRST(f)) && !(over[FIRST(f)] && FOLLOWED(FIRST(f) + 1)) -> ra[f] = FIRST(f); rp[f] = W_FOLLOW
          :: FOLLOWED(FIRST(f) + 1) && (over[FIRST(f)] || !(FOLLOWED(FIRST(f)))) -> ra[f] = FIRST(f) + 1; rp[f] = W_FOLLOW
          :: !(FOLLOWED(FIRST(f))) && !(FOLLOWED(FIRST(f) + 1)) ->
             if
             :: att[ra[f]] == A_MARKED -> rp[f] = W_UNKNOWN
             :: att[ra[f]] != A_MARKED && att[OTHER(ra[f])] == A_MARKED -> ra[f] = OTHER(ra[f])
             :: att[ra[f]] != A_MARKED && att[OTHER(ra[f])] != A_MARKED ->
                if
                :: ra[f] == LATEST(f) && HAS_NEXT(f) -> rp[f] = W_OPEN_ATTEMPT
                :: ra[f] == LATEST(f) && !HAS_NEXT(f) -> rp[f] = W_CLOSED /* out of attempts: the model's bound */
                :: ra[f] != LATEST(f) -> ra[f] = LATEST(f)
                fi
             fi
          fi
       fi; SHOW }
  :: atomic { rp[f] == W_UNKNOWN && (att[ra[f]] != A_MARKED || fst[f] != F_UNKNOWN) ->
       rp[f] = W_READ_ATTEMPT; printf("@ run %d | the unknown outcome of attempt %d has been settled\n", f, ra[f]); SHOW }
  :: atomic { (rp[f] == W_UNKNOWN || rp[f] == W_FOLLOW) && WHOLE && (ANY(SEEN_OF, ra[f]) || rp[f] == W_FOLLOW && ANY(ERRORED_OF, ra[f])) ->
       keepCopy(); settle(ra[f]); remember(G_SETTLE, ra[f]);
       if :: ENDED(f) -> rp[f] = W_CLOSED :: else -> rp[f] = W_READ_ATTEMPT fi;
       printf("@ run %d | settle attempt %d: filing fst=%d, rows row=%d\n", f, ra[f], fst[f], row[f]); SHOW }
#if RESTORES > 0
  :: atomic { rp[f] == W_FOLLOW && copied == 2 && fst[f] != F_NONE && REQUESTS_LOST(f) ->
       if
       :: i = 1; do :: i <= NE && !(PROVES(i, ra[f])) -> i++ :: else -> break od;
          if :: i <= NE -> s = sends[i] :: else -> s = NE + 2 fi; i = 0;
          handIn(ra[f], s); s = 0
       :: handInNamed(ra[f])      /* by a run that has the request from the ledger, or from a person */
       fi;
       if :: !(FOLLOWED(ra[f])) -> rp[f] = W_READ_ATTEMPT :: else fi;
       printf("@ run %d | hand in the request of attempt %d, which the ledger has lost: att=%d\n", f, ra[f], att[ra[f]]); SHOW }
#endif
  :: atomic { rp[f] == W_FOLLOW && WHOLE && MAYBE_FILED(ra[f]) && FOLLOWED(ra[f]) && ANY(ERRORED_OF, ra[f]) && att[OTHER(ra[f])] != A_MARKED && !(FOLLOWED(OTHER(ra[f]))) && !ENDED(f) ->
       /* the service says nothing of its rows: absent, once a look shows nothing of it */
       keepCopy(); att[ra[f]] = A_ABSENT; named[ra[f]] = 0; freeRows(f);
       if :: true -> move(f, F_REJECTED) :: true -> move(f, F_NEEDS_CORRECTION) fi;
       rp[f] = W_CLOSED; printf("@ run %d | the request of attempt %d is absent: filing fst=%d\n", f, ra[f], fst[f]); SHOW }
  :: atomic { rp[f] == W_OPEN_ATTEMPT && WHOLE && row[f] == R_PLANNED && att[ra[f]] == A_ABSENT && ANY(SEEN_OF, ra[f]) && !ENDED(f) && fst[f] != F_NONE ->
       keepCopy(); row[f] = R_CERTIFIED; closeOpenAttempts(f); move(f, F_SUBMITTING); move(f, F_COLLECTING); move(f, F_CERTIFIED); rp[f] = W_CLOSED;
       printf("@ run %d | a certificate of attempt %d shows after all\n", f, ra[f]); SHOW }
  :: atomic { rp[f] == W_FOLLOW && ENDED(f) -> rp[f] = W_CLOSED; printf("@ run %d | the filing has ended\n", f); SHOW }
#ifndef NO_SWEEP
  :: atomic { rp[f] == W_GONE && !ENDED(f) && MAY_BE_SENT(f) ->
       ra[f] = LATEST(f); rp[f] = W_READ_ATTEMPT; printf("@ sweep | a new run follows filing %d\n", f); SHOW }
#endif
  od
}

/* What nobody reads any more is forgotten, so that fewer states are to be visited. */
#define NOTHING_WRITTEN(e) ex[e] = X_NOTHING_WRITTEN; late[e] = 0
#define RETURN(e) ex[e] = X_DONE; late[e] = 0; net[e] = (net[e] == N_REFUSED -> N_LOST : net[e])
#define RETURN_ANSWER(e) late[e] = 0; if :: re[OF(xa[e])] == e + 1 -> ex[e] = X_DONE_ANSWER :: else -> ex[e] = X_DONE; net[e] = (net[e] == N_REFUSED -> N_LOST : net[e]) fi

proctype Execution(byte e) {
end:
  do
  :: atomic { ex[e] == X_CONNECTED ->
       if
       :: MARK_ALLOWED(xa[e]) ->
          keepCopy();
          must(att[xa[e]] != A_UNSENT, "@ broken | an unsent attempt is marked\n");
          must(att[OTHER(xa[e])] != A_MARKED && att[OTHER(xa[e])] != A_ACCEPTED, "@ broken | marked while another attempt is marked or accepted\n");
          att[xa[e]] = A_MARKED; snd[xa[e]] = e + 1; armed[xa[e]] = 1; row[OF(xa[e])] = R_SUBMITTED;
          i = NUMBER + 1; sends[i] = e + 1; xn[e] = i;
          if
          :: ex[e] = X_MARKED; printf("@ exec %d | mark attempt %d, number %d\n", e, xa[e], xn[e])
          :: !CALM -> NOTHING_WRITTEN(e); printf("@ exec %d | mark attempt %d, number %d; the commit is not acknowledged\n", e, xa[e], xn[e])
          fi; i = 0
       :: !(MARK_ALLOWED(xa[e])) -> NOTHING_WRITTEN(e); printf("@ exec %d | mark of attempt %d refused\n", e, xa[e])
       :: !CALM && MARK_ALLOWED(xa[e]) -> NOTHING_WRITTEN(e); printf("@ exec %d | mark of attempt %d aborted\n", e, xa[e])
       fi; SHOW }
#ifdef CRASHES
  :: atomic { ex[e] != X_FREE && ex[e] < X_DONE_ANSWER -> ex[e] = X_DONE; seen[e] = 0; late[e] = 0; printf("@ exec %d | the worker dies\n", e); SHOW }
#endif
  :: atomic { ex[e] == X_MARKED ->
       if
       :: file[xn[e]] == 0 OVERWRITES -> file[xn[e]] = e + 1; ex[e] = X_COUNTED; printf("@ exec %d | create file %d\n", e, xn[e])
       :: else -> NOTHING_WRITTEN(e); printf("@ exec %d | file %d exists\n", e, xn[e])
       fi; SHOW }
  :: atomic { ex[e] == X_COUNTED ->
       i = 1; do :: i <= NE -> if :: file[i] != 0 && (file[i] != VOID || VOID_COUNTS) -> seen[e] = seen[e] | (1 << i) :: else fi; i++ :: else -> break od; i = 0;
       ex[e] = X_LISTED; printf("@ exec %d | list the files\n", e); SHOW }
  :: atomic { ex[e] == X_LISTED ->
       if
       :: LISTING_HELD && OWN_MARK -> ex[e] = X_READY; printf("@ exec %d | the ledger holds the listing and the mark\n", e)
       :: else -> NOTHING_WRITTEN(e); printf("@ exec %d | the ledger has gone back\n", e)
       fi; seen[e] = 0; SHOW }
  :: atomic { ex[e] == X_READY ->
       if
       :: CLOCK_OK ->
          ex[e] = X_SENT; late[e] = 0; net[e] = N_TRAVELLING;
          printf("@ exec %d | write the request of attempt %d\n", e, xa[e]);
          must(att[xa[e]] != A_UNSENT || GONE_BACK, "@ broken | an unsent attempt is written\n")
       :: !(CALM && CLOCK_OK) -> NOTHING_WRITTEN(e); printf("@ exec %d | too late: nothing written\n", e)
       fi; SHOW }
  :: atomic { ex[e] == X_SENT ->
       if
       :: net[e] >= N_TAKEN && net[e] <= N_REFUSED || net[e] >= N_CERTIFIED -> ex[e] = X_ANSWERED; printf("@ exec %d | answer received\n", e)
       :: true -> RETURN(e); printf("@ exec %d | no answer, or a 5xx\n", e)
       fi; SHOW }
  :: atomic { ex[e] == X_ANSWERED ->
       if
       :: net[e] != N_REFUSED && fst[OF(xa[e])] != F_NONE -> keepCopy(); recordAcceptance(xa[e]); printf("@ exec %d | store the acceptance of attempt %d\n", e, xa[e]); RETURN_ANSWER(e)
       :: net[e] == N_REFUSED && att[xa[e]] == A_MARKED && OWN_SENDER ->
          keepCopy(); att[xa[e]] = A_REFUSED; unsubmit(OF(xa[e])); printf("@ exec %d | store the refusal of attempt %d\n", e, xa[e]); RETURN(e)
       :: net[e] == N_REFUSED && (!(att[xa[e]] == A_MARKED && OWN_SENDER) || !CALM) -> RETURN_ANSWER(e); printf("@ exec %d | return the refusal; it could not be stored\n", e)
       :: net[e] != N_REFUSED -> RETURN_ANSWER(e); printf("@ exec %d | return the answer; it could not be stored\n", e)
       fi; SHOW }
  :: atomic { ex[e] == X_NOTHING_WRITTEN ->
       if
       :: att[xa[e]] == A_OPEN || att[xa[e]] == A_MARKED && OWN_SENDER -> keepCopy(); att[xa[e]] = A_UNSENT; unsubmit(OF(xa[e])); notSentAfterAll(xa[e]);
          printf("@ exec %d | close own attempt %d as unsent\n", e, xa[e])
       :: else -> printf("@ exec %d | attempt %d is not its to close\n", e, xa[e])
       fi;
       RETURN(e); SHOW }
  od
}

/* The service, the authority behind it, and time. */
#define WORLD(e) \
  :: atomic { net[e] == N_TRAVELLING -> net[e] = N_TAKEN; printf("@ service | take request %d\n", e); SHOW } \
  :: atomic { net[e] == N_TRAVELLING -> net[e] = N_TAKEN_BAD; printf("@ service | take request %d, which will be Errored\n", e); SHOW } \
  :: atomic { net[e] == N_TRAVELLING && ex[e] == X_SENT -> net[e] = N_REFUSED; printf("@ service | refuse request %d\n", e); SHOW } \
  :: atomic { net[e] == N_TRAVELLING -> net[e] = N_LOST; printf("@ service | request %d is lost\n", e); SHOW } \
  :: atomic { net[e] == N_TAKEN -> net[e] = N_CERTIFIED; printf("@ authority | certificate of request %d\n", e); SHOW } \
  :: atomic { net[e] == N_TAKEN_BAD -> net[e] = N_ERRORED; printf("@ authority | request %d is Errored\n", e); SHOW }

proctype World() {
end:
  do
  WORLD(0)
  WORLD(1)
#if NE > 2
  WORLD(2)
#endif
#if NE > 3
  WORLD(3)
#endif
  od
}

proctype Operator() {
  byte f; byte a;
end:
  do
  :: atomic { ops > 0 && !(ENDED(0) && ENDED(1)) ->
       if :: f = 0 :: f = 1 fi;
       if
       :: rp[f] > W_NONE && rp[f] < W_CLOSED -> rp[f] = W_GONE; re[f] = 0; printf("@ operator | terminate run %d\n", f)
       :: rp[f] > W_OPEN_FILING ->
          re[f] = 0;
          if :: ra[f] > FIRST(f) -> ra[f] = FIRST(f) :: true fi;
          if :: rp[f] = W_OPEN_FILING :: rp[f] = W_OPEN_ATTEMPT :: rp[f] = W_DISPATCH :: rp[f] = W_READ_ATTEMPT fi;
          printf("@ operator | reset run %d to step=%d of attempt %d\n", f, rp[f], ra[f])
       :: rp[f] == W_GONE || rp[f] == W_CLOSED && !ENDED(f) ->
          re[f] = 0; ra[f] = LATEST(f);
          if
          :: fst[f] == F_NONE -> rp[f] = W_OPEN_FILING
          :: fst[f] != F_NONE && att[ra[f]] == A_NONE -> rp[f] = W_OPEN_ATTEMPT
          :: fst[f] != F_NONE && att[ra[f]] != A_NONE -> rp[f] = W_READ_ATTEMPT
          fi;
          printf("@ operator | resume filing %d\n", f)
       :: WHOLE && fst[f] != F_NONE && !ENDED(f) ->
          keepCopy(); abandonFiling(f); remember(G_ABANDON, f); printf("@ operator | abandon filing %d: rows row=%d\n", f, row[f])
       :: WHOLE ->
          if :: a = FIRST(f) :: a = FIRST(f) + 1 fi;
          if
          :: att[a] == A_MARKED && (fst[f] == F_UNKNOWN || ABANDONED_SENT(f)) && NONE_NAMED(f) && WINDOW_OVER(a) && LOOK(a) ->
             /* a wrong answer is one that the service does not contradict when it is said */
             if :: ANY(FILED_OF, a) && !(ANY(SEEN_OF, a)) -> wrong++ :: else fi;
             keepCopy(); PERSON_WAITED(a); i = snd[a]; notFiled(a, i); rememberAnswer(a, i); i = 0; printf("@ operator | attempt %d was not filed: att=%d\n", a, att[a])
          :: att[a] == A_MARKED && fst[f] == F_UNKNOWN && ACCEPTED_OVER(OTHER(a)) && ANY(TAKEN_OF, a) ->
             keepCopy(); nameRequest(a); printf("@ operator | attempt %d was filed, under the request that the person names\n", a)
          :: else -> ops++   /* nothing to answer */
          fi; a = 0
       :: else -> ops++
       fi;
       f = 0; ops--; SHOW }
  od
}

#if REPEATS > 0
proctype LateRepeat() {
  byte a;
end:
  do
  :: atomic { repeat == G_OPEN_ATTEMPT -> a = repeatArg; keepCopy(); openAttempt(a); printf("@ repeat | open the next attempt of filing %d late\n", a);
       repeat = G_USED; repeatArg = 0; repeatMark = 0; a = 0; SHOW }
  :: atomic { repeat == G_READ_ATTEMPT && WHOLE -> a = repeatArg; keepCopy(); readAttempt(a); printf("@ repeat | read attempt %d late: att=%d\n", a, att[a]);
       repeat = G_USED; repeatArg = 0; repeatMark = 0; a = 0; SHOW }
  :: atomic { repeat == G_NOT_FILED && WHOLE -> a = repeatArg; keepCopy(); notFiled(a, repeatMark); printf("@ repeat | attempt %d was not filed, late: att=%d\n", a, att[a]);
       repeat = G_USED; repeatArg = 0; repeatMark = 0; a = 0; SHOW }
  :: atomic { repeat == G_ABANDON && WHOLE -> a = repeatArg; keepCopy(); abandonFiling(a); printf("@ repeat | abandon filing %d late\n", a);
       repeat = G_USED; repeatArg = 0; repeatMark = 0; a = 0; SHOW }
  :: atomic { repeat == G_SETTLE && WHOLE -> a = repeatArg; keepCopy(); settle(a); printf("@ repeat | settle attempt %d late\n", a);
       repeat = G_USED; repeatArg = 0; repeatMark = 0; a = 0; SHOW }
  od
}
#endif

#if RESTORES > 0
#ifdef RESTORE_BOTH
#define PUT_BACK documentsRestored(); printf("@ operator | ledger and documents are put back to the copy\n")
#else
#define PUT_BACK printf("@ postgres | the ledger goes back to the copy\n")
#endif
proctype Postgres() {
end:
  do
#ifdef RESTORE_BOTH
  :: atomic { copied == 0 -> copyLedger(); copied = 1; printf("@ postgres | copy of ledger and documents\n"); SHOW }
#endif
  :: atomic { copied == 1 -> putBack(); copied = 2; PUT_BACK; SHOW }
  :: atomic { GONE_BACK -> importFiles(); printf("@ operator | ledger restored: the files are imported\n"); SHOW }
  od
}
#endif

#define LIVE_WHILE_UNDER_WAY(a) (!(att[a] == A_OPEN || att[a] == A_MARKED) || LIVE(OF(a)))
#define MARKED_WHILE_TRAVELLING(e) (net[e] != N_TRAVELLING || file[xn[e]] == e + 1 && (att[xa[e]] == A_MARKED || att[xa[e]] == A_ACCEPTED || GONE_BACK))
#define FILED_IS_LIVE(e) (!FILED(e) || LIVE(OF(xa[e])) || GONE_BACK || wrong > 0)
#ifdef RESTORE_BOTH
#define FORGOTTEN (copied == 2)       /* ledger and files have forgotten together: only the certificates count */
#else
#define FORGOTTEN false
#endif
#define EACH(P) (COUNTX(P) == NE)

proctype Monitor() {
  atomic { CERTIFICATES > 1 + PERMITTED + wrong || CERTIFICATES0 > 1 + wrong -> printf("@ broken | more certificates than mappings\n"); assert(false) }
}
proctype Monitor2() {
  do
  :: atomic { !(LIVE_WHILE_UNDER_WAY(0) && LIVE_WHILE_UNDER_WAY(1) && LIVE_WHILE_UNDER_WAY(2) && LIVE_WHILE_UNDER_WAY(3)) ->
     printf("@ broken | an attempt is open or marked and its rows are not live\n"); assert(false) }
  :: atomic { !FORGOTTEN && !(EACH(MARKED_WHILE_TRAVELLING)) -> printf("@ broken | a request on the network whose attempt is not marked\n"); assert(false) }
  :: atomic { !FORGOTTEN && !(EACH(FILED_IS_LIVE)) -> printf("@ broken | filed, and its rows are not live\n"); assert(false) }
  od
}

init {
  atomic {
    i = 0; do :: i < NE -> run Execution(i); i++ :: else -> break od; i = 0;
    rp[0] = W_OPEN_FILING;
#if ATTEMPTS1 > 0
    rp[1] = W_OPEN_FILING;
#endif
    run Run(0); run Run(1); run World(); run Operator(); run Monitor(); run Monitor2();
#if REPEATS > 0
    run LateRepeat();
#endif
#if RESTORES > 0
    run Postgres();
#endif
  }
}

#define UNSENT_AND_STOPPED (rp[0] == W_GONE && !(MAY_BE_SENT(0)))
#define OUT_OF_ATTEMPTS (rp[0] == W_CLOSED && !ENDED(0) || rp[0] == W_DISPATCH && ex[NE - 1] != X_FREE)
/* A person names the certificates that agree with what was said not to be filed. */
#define ASKED_BEFORE_SENDING (row[0] == R_PLANNED && CERTIFICATE_OF_ABSENT)
#define ENDS_OR_ASKS (ENDED(0) || fst[0] == F_UNKNOWN || ASKED_BEFORE_SENDING || UNSENT_AND_STOPPED || OUT_OF_ATTEMPTS)
#ifdef LIVENESS
ltl ends_or_asks { [] <> ENDS_OR_ASKS }
#endif
